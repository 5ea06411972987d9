# Draws the figures of what compare.R, curve.R and scaling.R wrote, as PNG: with ggplot2 if it is
# there, else with base graphics.
here <- dirname(gsub("~+~", " ", sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)),
                     fixed = TRUE))
source(file.path(here, "measure.R"))

opts <- read_options(list(results = file.path(here, "results"),
                          out = file.path(here, "figures")))

# A plot is a data frame of x, y, line (a colour each) and panel; log axes are named in `log`. Where
# y is a factor the points stand alone, else they are joined.
draw <- function(points, file, xlab, ylab, log) {
  grDevices::png(file.path(opts$out, file), 1600, 900, res = 150)
  on.exit(grDevices::dev.off())
  if (requireNamespace("ggplot2", quietly = TRUE)) draw_ggplot(points, xlab, ylab, log)
  else draw_base(points, xlab, ylab, log)
  cat("drew ", file.path(opts$out, file), "\n", sep = "")
}

draw_ggplot <- function(points, xlab, ylab, log) {
  library(ggplot2)
  plot <- ggplot(points, aes(x, y, colour = line)) + geom_point(size = 2) +
    facet_wrap(~panel, scales = if (is.factor(points$y)) "free_x" else "free") +
    labs(x = xlab, y = ylab, colour = NULL) + theme_minimal()
  if (!is.factor(points$y)) plot <- plot + geom_path(aes(group = line))
  if (grepl("x", log)) plot <- plot + scale_x_log10()
  if (grepl("y", log)) plot <- plot + scale_y_log10()
  print(plot)
}

draw_base <- function(points, xlab, ylab, log) {
  panels <- split(points, points$panel)
  lines <- unique(points$line)
  colours <- grDevices::hcl.colors(length(lines), "Dark 3")
  graphics::par(mfrow = grDevices::n2mfrow(length(panels)), mar = c(4, 10, 2, 1))
  for (panel in names(panels)) {
    draw_panel(panels[[panel]], panel, lines, colours, xlab, ylab, log)
  }
  graphics::legend("bottomright", legend = lines, col = colours, pch = 19, bty = "n", cex = 0.7)
}

draw_panel <- function(points, title, lines, colours, xlab, ylab, log) {
  y <- as.numeric(points$y)
  plot(points$x, y, type = "n", log = log, main = title, xlab = xlab, yaxt = "n",
       ylab = if (is.factor(points$y)) "" else ylab)
  if (is.factor(points$y)) {
    graphics::axis(2, seq_along(levels(points$y)), levels(points$y), las = 1)
  } else {
    graphics::axis(2)
  }
  for (i in seq_along(lines)) {
    own <- points$line == lines[i]
    graphics::points(points$x[own], y[own], col = colours[i], pch = 19,
                     type = if (is.factor(points$y)) "p" else "b")
  }
}

plot_compare <- function(rows) {
  rows <- rows[rows$operation %in% c("write", "read"), ]
  points <- data.frame(x = rows$median_ms, line = rows$backend, panel = rows$operation,
                       y = factor(rows$workload, rev(unique(rows$workload))))
  draw(points, "compare.png", "ms (median)", NULL, "x")
}

plot_sizes <- function(rows) {
  rows <- rows[rows$operation == "write", ]
  points <- data.frame(x = rows$size / 2^20, line = rows$backend, panel = "file size",
                       y = factor(rows$workload, rev(unique(rows$workload))))
  draw(points, "sizes.png", "MB", NULL, "x")
}

plot_curve <- function(rows) {
  rows <- rows[order(rows$level), ]
  points <- data.frame(x = rows$size / 2^20, y = rows$median_ms, line = rows$curve,
                       panel = paste(rows$workload, rows$operation))
  draw(points, "curve.png", "MB", "ms (median)", "y")
}

plot_scaling <- function(rows) {
  points <- data.frame(x = rows$rows, y = rows$median_ms, line = rows$backend,
                       panel = paste0(rows$operation, ", ", rows$threads, " threads"))
  draw(points, "scaling.png", "rows", "ms (median)", "xy")
  points <- data.frame(x = rows$rows, y = rows$peak_mib, line = rows$backend, panel = points$panel)
  draw(points[!is.na(points$y), ], "memory.png", "rows", "peak MB beyond object and result", "x")
}

dir.create(opts$out, showWarnings = FALSE, recursive = TRUE)
plots <- list(compare = list(plot_compare, plot_sizes), curve = list(plot_curve),
              scaling = list(plot_scaling))
for (name in names(plots)) {
  file <- file.path(opts$results, paste0(name, ".csv"))
  if (!file.exists(file)) {
    message("missing: ", file, "; ", name, ".R makes it")
    next
  }
  for (plot_one in plots[[name]]) plot_one(utils::read.csv(file))
}
