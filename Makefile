# What a developer runs; README.md and CONTRIBUTING.md say more. All that is built goes to out/.
#   make demo         save and read before your eyes, beside saveRDS(); installs what is missing
#   make test         every test: the core alone, testthat, the handed cases
#   make test-core    the core half alone: plain, ASan and UBSan, TSan
#   make install      into R's own library
#   make check        R CMD check --as-cran
#   make sanitize     R and riffle under ASan and UBSan, valgrind, TSan
#   make fuzz         each fuzz target, and random R objects, for FUZZ_SECONDS (600)
#   make bench        inst/bench/compare.R, with ARGS
#   make document     NAMESPACE and man/ from the roxygen comments

LIB = $(CURDIR)/out/lib
WITH_LIB = R_LIBS="$(LIB)$${R_LIBS:+:$$R_LIBS}"

.PHONY: demo test test-core install check sanitize fuzz bench document setup clean

demo:
	@sh tools/setup.sh build
	@sh tools/install.sh plain
	@$(WITH_LIB) Rscript --vanilla inst/bench/demo.R

test:
	@sh tools/setup.sh build test
	@sh tools/install.sh plain
	@$(WITH_LIB) Rscript --vanilla tools/test.R

test-core:
	@sh tools/setup.sh build
	@sh tests/core/run.sh

install:
	@sh tools/setup.sh build
	R CMD INSTALL --preclean --clean .

check:
	@sh tools/setup.sh build test check
	@sh tools/check.sh

sanitize:
	@sh tools/setup.sh build sanitize
	@sh tools/sanitize.sh

fuzz:
	@sh tools/setup.sh build fuzz
	@sh tests/core/fuzz.sh
	@sh tools/install.sh plain
	@$(WITH_LIB) Rscript --vanilla tests/fuzz/differential.R

bench:
	@sh tools/setup.sh build
	@sh tools/install.sh plain
	@$(WITH_LIB) Rscript --vanilla inst/bench/compare.R $(ARGS)

document:
	@sh tools/setup.sh build document
	@sh tools/install.sh plain
	@$(WITH_LIB) Rscript --vanilla -e 'roxygen2::roxygenise(load_code = roxygen2::load_installed)'

setup:
	@sh tools/setup.sh build test check sanitize fuzz document

clean:
	./cleanup
	rm -rf out riffle.Rcheck riffle_*.tar.gz
