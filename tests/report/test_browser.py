"""The page in a real browser: quiet, offline, its controls, its numbers against the results, its manners."""

import csv
import json
import re
import runpy
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

import tdlambda as td
from tdlambda import charts
from tdlambda.lab.report import serving
from tdlambda.lab.report.figures import chart
from tdlambda.lab.report.findings import findings
from tdlambda.lab.report.overview import Overview, overview
from tdlambda.lab.report.page import Picture, page
from tdlambda.lab.reproduction.cells import colours
from tdlambda.lab.studies import compare, summary

TOOLS: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "screenshots.py"))


@pytest.fixture(scope="module")
def view(ring: Path) -> Overview:
    return overview(ring)


@pytest.fixture(scope="module")
def file(view: Overview, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(view), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Path]]:
    """The browser, and where its downloads go. Without one these tests fail and say how to install it."""
    downloads = tmp_path_factory.mktemp("downloads")
    with TOOLS["browser"](downloads) as chrome:
        yield chrome, downloads


@pytest.fixture
def chrome(chromium: tuple[Any, Path], file: Path) -> Iterator[Any]:
    """The page, opened anew at the size of a desk; it must have been quiet when the test is over."""
    open_at_a_desk(chromium[0], file)
    chromium[0].untouched = False
    yield chromium[0]
    assert chromium[0].get_log("browser") == []


@pytest.fixture
def untouched(chromium: tuple[Any, Path], file: Path) -> Iterator[Any]:
    """The page for tests that change nothing on it: opened anew if the test before may have changed something."""
    if not getattr(chromium[0], "untouched", False):
        open_at_a_desk(chromium[0], file)
        chromium[0].untouched = True
    yield chromium[0]
    assert chromium[0].get_log("browser") == []


def open_at_a_desk(browser: Any, file: Path) -> None:
    TOOLS["resize"](browser, 1200, 900)
    TOOLS["prefer"](browser, "light")
    browser.get("about:blank")
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(file.as_uri())
    TOOLS["wait"](browser)


def drawn(chrome: Any, figure: str) -> str:
    text = chrome.execute_script("return document.querySelector(`#${arguments[0]} .plot`).innerHTML", figure)
    return re.sub(r"(clip|gradient_)\d+", "", text)  # numbered as they are made


def do(chrome: Any, act: Callable[[], Any]) -> None:
    """Do something, and wait until everything is drawn again."""
    before = int(chrome.execute_script("return Number(document.body.dataset.drawn)"))
    act()
    TOOLS["wait"](chrome, before + 1)


def click(chrome: Any, css: str) -> None:
    do(chrome, lambda: chrome.execute_script("document.querySelector(arguments[0]).click()", css))


def open_page(chrome: Any, path: Path) -> None:
    chrome.get("about:blank")
    chrome.get(path.as_uri())
    TOOLS["wait"](chrome)


def tip(chrome: Any) -> dict[str, str]:
    """What is shown of the mark that is pointed at."""
    box = chrome.find_element(By.ID, "vg-tooltip-element")
    assert "visible" in box.get_attribute("class")
    names = [node.text for node in box.find_elements(By.CSS_SELECTOR, "td.key")]
    values = [node.text for node in box.find_elements(By.CSS_SELECTOR, "td.value")]
    return dict(zip(names, values, strict=True))


def read(text: str) -> float:
    """A number as the page writes it."""
    digits, _, power = text.replace(",", "").partition("×10")
    return float(digits) * 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


def wait_for(chrome: Any, where: str, words: str) -> None:
    chrome.set_script_timeout(60)
    chrome.execute_async_script(
        """const [where, words, done] = arguments, node = document.getElementById(where);
        const look = () => (node.textContent.includes(words) ? done() : setTimeout(look, 50)); look();""",
        where, words,
    )  # fmt: skip


def rows(ring: Path, method: str, **settings: float) -> pl.DataFrame:
    found = td.studies.load_results(ring).filter(pl.col("method") == method).sort("seed")
    for name, value in settings.items():
        found = found.filter(pl.col(name) == value)
    return found


def downloaded(chromium: tuple[Any, Path], figure: str) -> list[dict[str, str]]:
    chrome, downloads = chromium
    button = chrome.find_element(By.CSS_SELECTOR, f"#{figure} .csv")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    path = downloads / f"ringworld-0.40-0.35-quick-{figure}.csv"
    for _ in range(1200):  # a busy machine takes its time
        if path.exists() and path.stat().st_size:
            break
        time.sleep(0.05)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return list(csv.DictReader(StringIO(text)))


def test_it_opens_without_a_word_and_without_a_request(chrome: Any, file: Path) -> None:
    sent = [json.loads(entry["message"])["message"] for entry in chrome.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in sent if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} == {file.as_uri()}
    assert chrome.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert len(chrome.find_elements(By.CSS_SELECTOR, "section[data-figure]:not([hidden]) .plot > *")) >= 9


def test_the_findings_stand_on_top(untouched: Any, view: Overview) -> None:
    found = findings(view, ["fixed", "greedy_published", "META"])
    assert untouched.find_element(By.ID, "headline").text == found.headline
    for name, answer in (("which", found.which), ("better", found.better), ("sure", found.sure)):
        said = [untouched.find_element(By.CSS_SELECTOR, f"#{name} {part}").text for part in ("h2", ".short", ".long")]
        assert said == [answer.question, answer.short, answer.text]


def points(chrome: Any, figure: str, label: str) -> list[Any]:
    """The marks of a series, by what a reader of screens is told of them."""
    found = chrome.find_elements(By.CSS_SELECTOR, f"#{figure} .mark-symbol path[aria-label]")
    return [node for node in found if f"method: {label};" in node.get_attribute("aria-label")]


def test_pointing_at_a_mean_shows_it_its_interval_and_n(untouched: Any, ring: Path) -> None:
    svg = untouched.find_element(By.CSS_SELECTOR, "#u svg")
    untouched.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    ActionChains(untouched).move_to_element(points(untouched, "u", "λ = 0")[1]).perform()  # no other mark covers it
    shown = tip(untouched)
    given = {name: float(value) for name, value in (part.split(" = ") for part in shown["at"].split(", "))}
    found = summary(rows(ring, "fixed", alpha=given["α"], lam=given["λ"])["tail"].to_numpy())
    assert shown["method"] == "λ = 0"
    assert read(shown["mean"]) == pytest.approx(found.mean, rel=6e-3)
    low, high = shown["95 % interval"].split(" to ")
    assert [read(low), read(high)] == pytest.approx([found.low, found.high], rel=6e-3)
    assert shown["runs"] == "8"


def test_the_table_has_the_colours_of_the_thesis(untouched: Any) -> None:
    cells = untouched.find_elements(By.CSS_SELECTOR, "#heat td[data-value]")
    values = [float(cell.get_attribute("data-value")) for cell in cells]
    assert len(values) == 3 * 4
    shown = [tuple(map(int, re.findall(r"\d+", cell.value_of_css_property("background-color"))[:3])) for cell in cells]
    for mine, theirs in zip(shown, colours(values), strict=True):
        assert mine == pytest.approx(theirs, abs=1)  # 0.5 is rounded up there, to even here


def test_figures_and_controls_have_names(untouched: Any) -> None:
    nameless = untouched.execute_script(
        """return [...document.querySelectorAll(".plot svg, input, select, button")].filter((node) =>
          !(node.getAttribute("aria-label") || node.labels?.length || node.textContent.trim()))
          .map((node) => node.outerHTML);"""
    )
    assert nameless == []
    assert untouched.execute_script("return document.documentElement.lang") == "en"


@pytest.mark.usefixtures("untouched")
def test_the_csv_has_the_numbers_of_the_results(chromium: tuple[Any, Path], ring: Path) -> None:
    table = downloaded(chromium, "u")
    assert len(table) == 3 * (2 + 1 + 1 + 1)  # each fixed λ, greedy, META, the best fixed λ
    for row in table:
        settings = {name: float(row[name]) for name in ("alpha", "lam", "kappa") if row[name]}
        found = summary(rows(ring, row["method"], **settings)["tail"].to_numpy())
        numbers = [float(row[name]) for name in ("mean", "low", "high", "std", "n", "diverged")]
        assert numbers == pytest.approx([found.mean, found.low, found.high, found.std, 8, 0], rel=1e-5)
        if row["method"] == "META":  # κ is the best at this α
            others = [rows(ring, "META", alpha=settings["alpha"], kappa=k)["tail"].mean() for k in (1e-3, 1e-2)]
            assert numbers[0] == pytest.approx(min(x for x in others if isinstance(x, float)), rel=1e-5)


def test_a_change_is_drawn_in_less_time_than_the_page(chrome: Any) -> None:
    """A choice changes parameters; nothing is built anew."""
    kept, took = chrome.execute_async_script(
        """const done = arguments[0], charts = [...document.querySelectorAll(".plot svg")], begun = performance.now();
        const slider = document.getElementById("alpha"), drawn = () => Number(document.body.dataset.drawn), n = drawn();
        slider.value = 0; slider.dispatchEvent(new Event("input"));
        const end = () => done([charts.every((svg) => svg.isConnected), performance.now() - begun]);
        const look = () => (drawn() > n ? end() : setTimeout(look, 5)); look();"""
    )
    assert kept
    assert took < chrome.execute_script("return performance.now()")


def test_choosing_a_point_chooses_its_step_size(chrome: Any) -> None:
    svg = chrome.find_element(By.CSS_SELECTOR, "#u svg")
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    chosen = []
    for point in points(chrome, "u", "META, as published"):
        do(chrome, lambda point=point: ActionChains(chrome).move_to_element(point).click().perform())  # type: ignore[misc]
        chosen.append(chrome.find_element(By.ID, "alpha-value").text)
    assert sorted(chosen) == ["0.001", "0.01", "0.05"]


def test_the_keyboard_reaches_every_control_and_every_number(chrome: Any, ring: Path) -> None:
    body = chrome.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    seen: list[str] = []
    for _ in range(80):
        node = chrome.switch_to.active_element
        seen.append(node.get_attribute("id") or node.get_attribute("class") or node.tag_name)
        if node.tag_name == "summary":
            break
        node.send_keys(Keys.TAB)
    assert {"group", "alpha", "published", "theme"} <= set(seen)
    chrome.switch_to.active_element.send_keys(Keys.ENTER)  # the numbers of the first figure
    chrome.execute_async_script("setTimeout(arguments[0], 100)")
    cells = [
        [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
        for row in chrome.find_elements(By.CSS_SELECTOR, "#u details tbody tr")
    ]
    head = [cell.text for cell in chrome.find_elements(By.CSS_SELECTOR, "#u details th")]
    (row,) = (dict(zip(head, cell, strict=True)) for cell in cells if cell[:3] == ["λ = 0", "fixed", "0.01"])
    found = summary(rows(ring, "fixed", alpha=0.01, lam=0.0)["tail"].to_numpy())
    assert [float(row[name]) for name in ("mean", "low", "high")] == pytest.approx(
        [found.mean, found.low, found.high], rel=1e-3
    )


def test_every_control_changes_what_it_should(chrome: Any) -> None:
    def changes(act: Callable[[], None], *figures: str) -> None:
        before = {figure: drawn(chrome, figure) for figure in figures}
        act()
        for figure in figures:
            assert drawn(chrome, figure) != before[figure], figure

    changes(lambda: click(chrome, "[name=measure][value=area]"), "u", "heat", "kappa")
    assert "area under" in chrome.find_element(By.ID, "u-hint").text
    changes(lambda: click(chrome, "[name=measure][value=tail]"), "u", "heat", "kappa")
    slider = chrome.find_element(By.ID, "alpha")
    changes(lambda: do(chrome, lambda: slider.send_keys(Keys.HOME)), "u", "learning", "heat", "lambda", "kappa")
    assert "α = 0.001" in chrome.find_element(By.CSS_SELECTOR, "#learning h2").text
    changes(lambda: do(chrome, lambda: slider.send_keys(Keys.ARROW_RIGHT)), "learning", "lambda", "kappa")
    changes(lambda: click(chrome, "#methods input[value=META]"), "u", "learning", "heat", "lambda", "motion", "paired")
    assert not points(chrome, "u", "META, as published")
    changes(lambda: click(chrome, "#methods button"), "u", "learning", "heat")
    changes(lambda: click(chrome, "#methods button"), "u", "learning", "heat")
    changes(lambda: click(chrome, "#methods input[value=META]"), "u", "motion")
    assert not opened(chrome)  # other steps than in print: only if asked for
    changes(lambda: click(chrome, "#published"), "u", "heat")
    assert len(opened(chrome)) == 3 * (2 + 1 + 1)
    changes(lambda: choose(chrome, "scope", "alpha"), "paired")
    changes(lambda: choose(chrome, "reference", "greedy_published"), "paired")
    changes(lambda: choose(chrome, "group", "2"), "u", "paired", "sensitivity", "motion")


def opened(chrome: Any) -> list[Any]:
    """What is published, as open points."""
    return chrome.find_elements(By.CSS_SELECTOR, "#u .mark-symbol path[fill='#ffffff']")


def choose(chrome: Any, control: str, value: str) -> None:
    script = """const s = document.getElementById(arguments[0]); s.value = arguments[1];
        s.dispatchEvent(new Event("change"));"""
    do(chrome, lambda: chrome.execute_script(script, control, value))


def test_choices_survive_a_reload(chrome: Any) -> None:
    click(chrome, "[name=measure][value=area]")
    click(chrome, "#methods input[value=greedy_published]")
    click(chrome, "#theme")
    do(chrome, lambda: chrome.find_element(By.ID, "alpha").send_keys(Keys.HOME))
    before = {figure: drawn(chrome, figure) for figure in ("heat", "paired", "sensitivity")}
    chrome.refresh()
    TOOLS["wait"](chrome)
    assert {figure: drawn(chrome, figure) for figure in before} == before
    assert chrome.execute_script("return document.documentElement.dataset.theme") == "dark"


def test_light_and_dark(chrome: Any) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = """return [...document.querySelectorAll("#u text")].filter((t) => t.textContent === "META, as published")
      .map((t) => getComputedStyle(t).fill)[0]"""
    light, letters = chrome.execute_script(ground), chrome.execute_script(ink)
    click(chrome, "#theme")
    dark, bright = chrome.execute_script(ground), chrome.execute_script(ink)
    assert (dark != light, letters, bright) == (True, "rgb(26, 31, 38)", "rgb(230, 235, 240)")
    click(chrome, "#theme")
    assert chrome.execute_script(ground) == light
    TOOLS["prefer"](chrome, "dark")
    chrome.get("about:blank")
    chrome.back()
    TOOLS["wait"](chrome)
    assert "theme=light" in chrome.current_url  # what was chosen goes before what the system prefers
    chrome.get(chrome.current_url.partition("#")[0] + "#")
    chrome.refresh()
    TOOLS["wait"](chrome)
    assert chrome.execute_script(ground) == dark


def test_nothing_is_without_a_partner_in_the_dark(chrome: Any) -> None:
    """Every letter and every line can be seen on dark ground: no colour of the light theme is left."""
    click(chrome, "#theme")
    left = chrome.execute_script(
        """const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
        const seen = (colour) => light(colour.match(/[0-9.]+/g).map(Number));
        const all = [...document.querySelectorAll(".plot svg text, .plot svg .mark-line path")];
        return all.map((node) => getComputedStyle(node))
          .map((s) => (s.fill === "none" ? s.stroke : s.fill)).filter((c) => c.startsWith("rgb") && seen(c) < 60);"""
    )
    assert left == []


def test_the_csv_is_of_what_is_shown(chrome: Any, chromium: tuple[Any, Path], ring: Path) -> None:
    click(chrome, "[name=measure][value=area]")
    do(chrome, lambda: chrome.find_element(By.ID, "alpha").send_keys(Keys.HOME))
    for key in ("fixed 0", "fixed 0.9", "envelope"):
        click(chrome, f"#methods input[value='{key}']")
    shown = downloaded(chromium, "u")
    assert {(row["series"], row["measure"]) for row in shown} == {
        ("λ-greedy, as published", "area"), ("META, as published", "area"),
    }  # fmt: skip
    curve = downloaded(chromium, "learning")
    assert {row["alpha"] for row in curve} == {"0.001"}
    steps = json.loads((ring / "manifest.json").read_text())["curve_steps"]
    greedy = np.array(rows(ring, "greedy_published", alpha=0.001)["curve"].to_list()).mean(axis=0)
    for row in (row for row in curve if row["method"] == "greedy_published"):
        assert float(row["mean"]) == pytest.approx(greedy[steps.index(int(row["step"]))], rel=1e-4)
    learned = downloaded(chromium, "lambda")
    mean = np.array(rows(ring, "greedy_published", alpha=0.001)["lambdas"].to_list()).mean(axis=0)
    mine = {int(row["state"]): float(row["lambda"]) for row in learned if row["method"] == "greedy_published"}
    assert mine == pytest.approx({state: mean[state] for state in range(1, 10)}, abs=1e-3)
    paired = downloaded(chromium, "paired")
    assert {row["reference"] for row in paired} == {"fixed"}


def test_comparisons_are_those_of_the_results(chrome: Any, chromium: tuple[Any, Path], view: Overview) -> None:
    (first,) = (row for row in downloaded(chromium, "paired") if row["method"] == "META")
    wanted = view.compare(view.best("META"), view.best("fixed"))
    names = ("ratio", "ratio_low", "ratio_high", "better", "better_low", "better_high", "n")
    numbers = [getattr(wanted, name) for name in (*names[:3], "better", "better_low", "better_high", "n")]
    assert [float(first[name]) for name in names] == pytest.approx(numbers, rel=1e-3)
    choose(chrome, "reference", "META")  # the other way round
    turned = next(row for row in downloaded(chromium, "paired") if row["method"] == "fixed")
    back = compare(view.best("fixed").runs["tail"], view.best("META").runs["tail"])
    assert float(turned["ratio"]) == pytest.approx(back.ratio, rel=1e-3)
    assert [float(turned[f"ratio_{end}"]) for end in ("low", "high")] == pytest.approx(
        [back.ratio_low, back.ratio_high], rel=5e-3
    )
    assert float(turned["better"]) == pytest.approx(back.better, abs=1e-3)


def test_the_numbers_can_be_read_as_a_table(chrome: Any) -> None:
    chrome.find_element(By.CSS_SELECTOR, "#u summary").click()
    chrome.execute_async_script("setTimeout(arguments[0], 100)")
    head = [cell.text for cell in chrome.find_elements(By.CSS_SELECTOR, "#u details th")]
    assert head[:2] == ["series", "method"]
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#u details tbody tr")) == 15
    click(chrome, "#methods input[value=META]")
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#u details tbody tr")) == 12


def test_no_screen_is_too_narrow(chrome: Any) -> None:
    for width in (375, 320, 700, 1200):
        TOOLS["resize"](chrome, width, 800)
        chrome.execute_async_script("setTimeout(arguments[0], 300)")
        everything_is_in_sight(chrome, width)
        if width in (375, 1200):
            names_do_not_overlap(chrome)


def everything_is_in_sight(chrome: Any, width: int) -> None:
    wide = chrome.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1] == width
    boxes = chrome.execute_script(
        """return [...document.querySelectorAll(".plot svg text")].map((t) => { const b = t.getBoundingClientRect();
          return [t.textContent, b.left, b.right]; })
          .filter(([, left, right]) => left < -1 || right > innerWidth + 1);"""
    )
    assert boxes == []


def names_do_not_overlap(chrome: Any) -> None:
    """Of lines, and of ticks."""
    hits = chrome.execute_script(
        """const hits = [];
        const ids = ["u", "learning", "kappa", "paired", "sensitivity"].map((id) => `#${id} .plot svg`).join();
        for (const svg of document.querySelectorAll(ids)) {
          const boxes = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
          boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
            const x = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (x > 1 && y > 4) hits.push([a, b]);
          }));
        }
        return hits;"""
    )
    assert hits == []


def test_wild_names_do_no_harm(chrome: Any, tmp_path: Path) -> None:
    wild = "</script><script>document.title = 'hurt'</script><img src=x onerror=\"document.title = 'hurt'\">"
    method = td.studies.Method("TrueOnlineTD", over=("alpha", "lam"), about=wild)
    rule = td.studies.Method("TrueOnlineTD", rule="Meta", over=("alpha",), about=wild)
    grid = {"alpha": [0.01, 0.1], "lam": [0.0, 0.9]}
    study = td.studies.Study(
        "wild", task="RandomWalk-v0", title=wild, seeds=2, steps=200, points=10, grid=grid,
        methods={"fixed": method, "META": rule},
    )  # fmt: skip
    td.studies.run_study(study, tmp_path / "results", progress=False)
    (tmp_path / "wild.html").write_text(page(overview(tmp_path / "results")), encoding="utf-8")
    open_page(chrome, tmp_path / "wild.html")
    assert chrome.title == "wild"
    assert chrome.find_element(By.CSS_SELECTOR, "header h1").text == wild
    assert wild in chrome.find_element(By.ID, "declared").text
    assert not chrome.find_elements(By.TAG_NAME, "img")
    assert not chrome.find_elements(By.CSS_SELECTOR, "[onerror]")


@pytest.mark.slow
def test_control_is_of_costs_with_a_map_and_the_points_of_the_figure(chrome: Any, car: Path, tmp_path: Path) -> None:
    (tmp_path / "car.html").write_text(page(overview(car)), encoding="utf-8")
    open_page(chrome, tmp_path / "car.html")
    said = chrome.find_element(By.TAG_NAME, "main").text
    assert "The cost at every step size" in said
    assert "final cost (minus the return)" in said
    assert "read by eye off the published figure" in said
    assert not re.search(r"\berrors?\b", said, re.IGNORECASE)
    assert len(opened(chrome)) == 2 * 3  # α, and λ = 0.9, λ-greedy, META
    tiles = chrome.find_elements(By.CSS_SELECTOR, "#lambda .mark-rect path")
    assert len(tiles) == 2 * 64
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#lambda h3")) == 2


def test_a_page_may_open_with_pictures(chrome: Any, view: Overview, tmp_path: Path) -> None:
    rows = [{"time": t, "prediction": t % 5, "outcome": t % 4} for t in range(20)]
    first, second = charts.predictions(rows), chart(view, "u")
    pictures = [Picture("One", "What it says.", first), Picture("Two", "More.", second)]
    (tmp_path / "opening.html").write_text(page(view, opening=pictures), encoding="utf-8")
    assert not chrome.find_element(By.ID, "opening").is_displayed()  # other pages have none
    open_page(chrome, tmp_path / "opening.html")
    shown = chrome.find_elements(By.CSS_SELECTOR, "#opening .picture")
    assert [one.find_element(By.TAG_NAME, "h2").text for one in shown] == ["One", "Two"]
    assert all(one.find_element(By.TAG_NAME, "svg").get_attribute("aria-label") for one in shown)
    lines = shown[0].find_elements(By.CSS_SELECTOR, ".mark-line path")
    assert len([line for line in lines if line.get_attribute("d")]) == 2
    TOOLS["resize"](chrome, 375, 800)
    chrome.execute_async_script("setTimeout(arguments[0], 300)")
    assert chrome.execute_script("return document.documentElement.scrollWidth") <= 375


def test_runs_that_diverged_are_counted(chrome: Any, tmp_path: Path) -> None:
    study = td.studies.Study(
        "lost", task="RandomWalk-v0", seeds=4, steps=400, points=10, grid={"alpha": [0.1, 2.5], "lam": [0.0, 0.9]},
        methods={
            "fixed": td.studies.Method("TD", over=("alpha", "lam")),
            "META": td.studies.Method("TrueOnlineTD", "Meta", over=("alpha",)),
        },
    )  # fmt: skip
    td.studies.run_study(study, tmp_path / "results", progress=False)
    lost = td.studies.load_results(tmp_path / "results").filter(pl.col("diverged_at") >= 0)
    fixed = lost.filter(pl.col("method") == "fixed").height
    assert 0 < fixed < 16
    (tmp_path / "lost.html").write_text(page(overview(tmp_path / "results")), encoding="utf-8")
    open_page(chrome, tmp_path / "lost.html")
    assert chrome.find_element(By.ID, "diverged-hint").text.startswith(f"{lost.height} of 24 runs")
    said = [text.text for text in chrome.find_elements(By.CSS_SELECTOR, "#diverged svg text")]
    assert f"{int(100 * fixed / 8 + 0.5)}%" in said  # all of them at the large α
    assert "A cross" in chrome.find_element(By.ID, "u-hint").text


def test_served_it_renews_itself_and_keeps_what_was_chosen(
    chrome: Any, ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "INTERVAL", 0.05)
    shutil.copytree(ring, tmp_path / "growing")
    held = sorted((tmp_path / "growing" / "units").glob("*/00000[4-7].parquet"))
    later = {path: path.read_bytes() for path in held}
    for path in held:
        path.unlink()
    server = serving.Server([tmp_path / "growing"])
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        chrome.get(server.url)
        TOOLS["wait"](chrome)
        assert "4 runs of 2,000 steps" in chrome.find_element(By.ID, "subtitle").text
        assert "unfinished: 20 of 40" in chrome.find_element(By.ID, "subtitle").text
        click(chrome, "[name=measure][value=area]")
        click(chrome, "#methods input[value=greedy_published]")
        do(chrome, lambda: chrome.find_element(By.ID, "alpha").send_keys(Keys.HOME))
        for path, content in later.items():
            path.write_bytes(content)
        wait_for(chrome, "subtitle", "8 runs")
        until = time.monotonic() + 20
        while "unfinished" in chrome.find_element(By.ID, "subtitle").text:  # it may have looked between two files
            assert time.monotonic() < until
            time.sleep(0.05)
        assert chrome.find_element(By.CSS_SELECTOR, "[value=area]").is_selected()
        assert not chrome.find_element(By.CSS_SELECTOR, "#methods input[value=greedy_published]").is_selected()
        assert chrome.find_element(By.ID, "alpha-value").text == "0.001"
        assert chrome.find_element(By.ID, "live").text == "live"
    finally:
        server.close()
        thread.join(10)
    wait_for(chrome, "live", "stopped")
    refused = [entry for entry in chrome.get_log("browser") if "ERR_CONNECTION_REFUSED" not in entry["message"]]
    assert refused == []
    chrome.get("about:blank")
    chrome.get_log("browser")


def test_pictures_of_any_page(tmp_path: Path) -> None:
    """Of the whole page and of every figure that is not hidden, in three sizes; dark where the page is."""
    figure = '<section id="{0}" data-figure="{0}" {1}>{0}</section>'
    (tmp_path / "small.html").write_text(
        "<!doctype html><style>@media (prefers-color-scheme: dark) { body { background: black } }</style>"
        f'<body data-drawn="1"><div id="controls"></div><div class="answers">Yes</div>{figure.format("u", "")}'
        f"{figure.format('heat', 'hidden')}</body>"
    )
    TOOLS["main"](tmp_path / "small.html", tmp_path)
    names = {f"{kind}-{figure}.png" for kind in ("light", "dark", "phone") for figure in ("page", "top", "u")}
    assert {path.name for path in tmp_path.glob("*.png")} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    assert (tmp_path / "light-page.png").read_bytes() != (tmp_path / "dark-page.png").read_bytes()


@pytest.mark.slow
def test_pictures_are_taken_by_a_command(ring: Path, tmp_path: Path) -> None:
    TOOLS["main"](ring, tmp_path)
    figures = ["page", "top", "u", "learning", "heat", "lambda", "motion", "kappa", "paired", "sensitivity", "diverged"]
    names = {f"{kind}-{figure}.png" for kind in ("light", "dark", "phone") for figure in figures}
    assert {path.name for path in tmp_path.glob("*.png")} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    assert (tmp_path / "light-page.png").read_bytes() != (tmp_path / "dark-page.png").read_bytes()


def test_a_missing_browser_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(RuntimeError, match="apt-get install -y chromium"), TOOLS["browser"]():
        pass
