#!/bin/sh
# Prints the packages that DESCRIPTION suggests, one a line.
cd "$(dirname "$0")/.." || exit 1
sed -n '/^Suggests:/,/^[A-Z]/p' DESCRIPTION | sed -n 's/^ \{1,\}\([A-Za-z0-9.]*\).*/\1/p'
