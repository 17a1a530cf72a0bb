// Draws the charts with sliders: each .chart.live is followed by its specification.
(async () => {
  for (const box of document.querySelectorAll(".chart.live")) {
    const spec = JSON.parse(box.nextElementSibling.textContent);
    spec.background = null;
    await vegaEmbed(box, spec, { renderer: "svg", actions: false });
    document.body.dataset.live = Number(document.body.dataset.live || 0) + 1;
  }
})();
