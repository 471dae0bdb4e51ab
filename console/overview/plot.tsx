import {useEffect, useRef} from 'preact/hooks';
import uPlot from 'uplot';
import {useCell} from '#page/base/cell.js';
import {theme} from '#page/shell/theme.js';

/** What is shown is as long as what is known, within these bounds. */
const [leastSeconds, mostSeconds] = [60, 300];
const stepSeconds = {short: 15, long: 60} as const;

/** Where the axis of time has lines: at steps back from the last value. */
const steps = (from: number, to: number): number[] => {
  const step = to - from > 2 * leastSeconds ? stepSeconds.long : stepSeconds.short;
  return Array.from({length: Math.floor((to - from) / step) + 1}, (_, at) => to - at * step).toReversed();
};

const agoText = (ago: number): string => (ago === 0 ? 'now' : ago % 60 === 0 ? `${ago / 60} min ago` : `${ago} s ago`);

export interface Series {
  readonly label: string;
  /** The name of a colour of the style sheet. */
  readonly colour: string;
}

const colourOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Plots values over time, the first row of which are times in seconds. */
export function Plot({
  label,
  series,
  data,
  format,
}: {
  readonly label: string;
  readonly series: readonly Series[];
  readonly data: uPlot.AlignedData;
  format(value: number): string;
}) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const chosen = useCell(theme);
  useEffect(() => {
    const element = host.current!;
    const axis = {stroke: colourOf('--muted'), grid: {stroke: colourOf('--line'), width: 1}, ticks: {show: false}, font: '11px system-ui'};
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: 150,
        legend: {live: false},
        cursor: {show: false},
        scales: {
          x: {time: false, range: (_, first, last) => [last - Math.min(mostSeconds, Math.max(leastSeconds, last - first)), last]},
          y: {range: (_, __, most) => [0, Math.max(1, most * 1.1)]},
        },
        axes: [
          {
            ...axis,
            size: 26,
            splits: (_, __, from, to) => steps(from, to),
            values: (_, values) => values.map(value => agoText(Math.round(values.at(-1)! - value))),
          },
          {...axis, size: 46, values: (_, values) => values.map(format)},
        ],
        series: [
          {},
          ...series.map(({label: name, colour}) => ({label: name, stroke: colourOf(colour), width: 1.5, points: {show: false}})),
        ],
      },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({width: element.clientWidth, height: 150}));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [chosen]);
  useEffect(() => plot.current?.setData(data), [data]);
  return <div class="plot" ref={host} role="img" aria-label={label} />;
}
