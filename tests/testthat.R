library(testthat)
library(riffle)

test_check("riffle")
