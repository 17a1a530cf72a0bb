// A browser does not let a page fetch its neighbours from file://. Sphinx's search fetches each page it found, to show an
// excerpt; here it gets the text from pages.js, which the build writes.
window.fetch = async (url) => ({ text: async () => window.PAGE_TEXTS[url.replace(/^\.\//, "")] ?? "" });
