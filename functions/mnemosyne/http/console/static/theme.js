// Set the theme before the first paint. This script is not a module, because modules run after it.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The stored choice cannot be read. The page then has the theme of the operating system.
}
