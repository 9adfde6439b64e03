// Set the theme before the first paint. This script is no module, because modules run after it.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is not available: the theme of the system applies.
}
