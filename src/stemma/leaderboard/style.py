"""The page's style: one column on a phone, light or dark as the reader's system is, nothing from elsewhere."""

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--faint:#5b6675;--line:#d8dee6;--card:#f5f7fa;--heat:#2f7fd1;
--good:#12713c;--bad:#b3261e;--c0:#2563b0;--c1:#c2410c;--c2:#15803d;--c3:#9333ea;--c4:#be123c;--c5:#0f766e;--c6:#a16207;
--c7:#475569}
@media(prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6eaf0;--faint:#9aa6b5;--line:#2e3743;--card:#1a212a;
--heat:#2c74bf;--good:#5fd08d;--bad:#ff8a80;--c0:#6ea8fe;--c1:#fb923c;--c2:#4ade80;--c3:#c084fc;--c4:#fb7185;--c5:#2dd4bf;
--c6:#facc15;--c7:#94a3b8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:110rem;padding:1rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.25rem;margin:2.2rem 0 .5rem}h3{margin:1.2rem 0 .3rem}h3+p{margin:0 0 .5rem}
a{color:var(--c0)}
p,li,small,figcaption{max-width:72ch}small,.note{color:var(--faint)}.note{font-size:.9rem}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:.8rem 0}nav a{padding:.4rem 0}
.scroll{overflow:auto;max-height:90vh;border:1px solid var(--line);border-radius:.5rem}
.scroll:focus-visible{outline:2px solid var(--c0)}
table{border-collapse:collapse;min-width:100%;font-size:.85rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.4rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>*{border-bottom:0}
thead th{background:var(--card);position:sticky;top:0;z-index:2;box-shadow:inset 0 -1px var(--line)}
th small,td small{display:block;font-weight:400;white-space:nowrap}
th small.said,td small.said{white-space:normal}thead small.said{min-width:9rem}
tbody th{position:sticky;left:0;background:var(--paper);border-right:1px solid var(--line);min-width:7rem;
max-width:12rem;overflow-wrap:break-word;z-index:1}
thead th:first-child{left:0;z-index:3}
.heat td{min-width:7.5rem;background:color-mix(in srgb,var(--heat) calc(var(--h,0)*50%),var(--paper))}
.heat td small{color:inherit;opacity:.85}.heat td.none{color:var(--faint)}
.heat tbody tr.baseline th{font-style:italic}
mark{display:inline-block;border-radius:.3rem;padding:0 .35rem;background:#ffd54a;color:#3b2f00;font-size:.75rem;font-weight:600}
.wide td{min-width:7.5rem;max-width:26rem}.wide td.long{min-width:min(24rem,70vw)}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,17rem),1fr));gap:1rem}
figure{margin:0;padding:.6rem;border:1px solid var(--line);border-radius:.5rem;background:var(--card)}
svg{display:block;width:100%;height:auto}svg text{font-size:10px;fill:var(--faint)}
svg polyline{fill:none;stroke:currentColor;stroke-width:1.8}svg circle{fill:currentColor}.axis{stroke:var(--line)}
.dashed{stroke-dasharray:5 3;border-top-style:dashed!important}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem .9rem;margin:.3rem 0 0;padding:0;font-size:.8rem}
.legend i{display:inline-block;width:1.1rem;border-top:3px solid currentColor;margin-right:.3rem;vertical-align:middle}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}.c5{color:var(--c5)}
.c6{color:var(--c6)}.c7{color:var(--c7)}
details{border:1px solid var(--line);border-radius:.5rem;margin:.5rem 0;padding:0 .8rem}
summary{cursor:pointer;padding:.6rem 0;font-weight:600}details>*:last-child{margin-bottom:.8rem}
article{border-top:1px solid var(--line);padding:.6rem 0}article p{margin:.2rem 0}
.answers{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem;margin:.4rem 0 0;padding:0;font-size:.85rem}
.answers li{border:1px solid var(--line);border-radius:.4rem;padding:.15rem .5rem;background:var(--card)}
.answers small{display:block}
.right{color:var(--good)}.wrong{color:var(--bad)}
@media(max-width:40rem){body{padding:.7rem;font-size:15px}.heat td{min-width:6.6rem}
th,td{padding:.35rem .4rem}tbody th{min-width:7rem;max-width:8rem}nav{gap:0 1rem}}
@media print{.scroll{overflow:visible;max-height:none}}
"""
