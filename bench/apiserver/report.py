#!/usr/bin/env python3
"""report.py THEIRS OURS: the outputs of apiserver_bench for both servers as Markdown tables."""
import sys


def read(path):
    with open(path) as file:
        return {row[0]: [float(x) for x in row[1:]] for row in (line.split('\t') for line in file)}


def main():
    theirs, ours = read(sys.argv[1]), read(sys.argv[2])
    pods, watchers = theirs.pop('size')
    del ours['size']
    print('| scenario | upstream, per s | ours, per s | times | upstream, p50 / p99 ms | ours, p50 / p99 ms '
          '| upstream, CPU each | ours, CPU each | times | client, CPU each |')
    print('|---|---|---|---|---|---|---|---|---|---|')
    for name, t in theirs.items():
        o = ours.get(name)
        if name.startswith('memory') or o is None:
            continue
        print(f'| {name} | {t[0]:,.0f} | {o[0]:,.0f} | {o[0] / t[0]:.1f} | {t[1]:.2f} / {t[2]:.2f} | {o[1]:.2f} / {o[2]:.2f} '
              f'| {t[3]:,.1f} us | {o[3]:,.1f} us | {t[3] / max(o[3], 1e-9):.1f} | {o[4]:,.1f} us |')
    print('\n| memory | upstream | ours | times |')
    print('|---|---|---|---|')
    rows = [('before', 'MB', lambda m: m['memory-start'][0] / 1e6),
            (f'with {pods:,.0f} pods more', 'MB', lambda m: m['memory-loaded'][0] / 1e6),
            ('per pod', 'bytes', lambda m: (m['memory-loaded'][0] - m['memory-start'][0]) / pods),
            ('per watcher', 'bytes', lambda m: m['memory-watchers'][0] / watchers),
            ('after everything', 'MB', lambda m: m['memory-end'][0] / 1e6)]
    for name, unit, value in rows:
        t, o = value(theirs), value(ours)
        times = f'{t / o:.1f}' if t > 0 and o > 0 else 'too small to tell'
        print(f'| {name} | {t:,.0f} {unit} | {o:,.0f} {unit} | {times} |')


main()
