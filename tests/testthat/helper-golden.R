# What fixtures/v1.rif holds: something for every kind of block, filter and type. Never to be
# changed once a version is released; fixtures/make.R writes the file.
golden_object <- function() {
  i <- 0:1999
  list(
    nothing = NULL,
    flags = c(TRUE, NA, FALSE),
    numbers = c(1.5, NA, NaN, minus_zero(), Inf, 5e-324),
    complex = complex(real = 1, imaginary = -2),
    bytes = as.raw(i %% 256),
    ids = as.integer(1e6 + 3 * i),
    spread = as.integer((i * 7919) %% 10007 - 5000),
    few = as.integer(c(4, 9, NA)[i %% 3 + 1]),
    prices = i * 37 %% 1000 / 100,
    waves = (i * 0.7548776662) %% 1,
    text = c("a", "", NA, "\u00e9", latin1("\u00e9"), as_bytes("\xff")),
    levels = factor(c("low", "high", NA)[i %% 3 + 1], levels = c("low", "high", "none")),
    labels = c("Kenya", "Uganda", NA, "Chad")[i %% 4 + 1],
    names = paste0("item-", i * 31),
    date = structure(17000, class = "Date"),
    frame = structure(list(x = 1:3, y = c("p", "q", NA)), class = "data.frame", row.names = c(NA, -3L)),
    sequence = 1:100,
    call = quote(f(x, y = 2)),
    formula = quote(y ~ x),
    pairs = pairlist(a = 1, 2),
    symbol = as.name("name"),
    special = list(globalenv(), baseenv(), emptyenv(), .BaseNamespaceEnv),
    builtin = sum
  )
}
