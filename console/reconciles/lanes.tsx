import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useKeys} from '#page/base/keys.js';
import type {ReconcileRecord} from '#page/api/recorder.js';
import type {Causes} from '#page/history/causes.js';

const [laneHeight, barHeight, labelWidth, top] = [30, 12, 210, 20];

interface Bar {
  readonly record: ReconcileRecord;
  readonly x: number;
  readonly width: number;
  readonly y: number;
}

interface LanesProps {
  readonly reconciles: readonly ReconcileRecord[];
  readonly causes: Causes;
  /** The reconciles of a controller that triggers itself. */
  readonly looping: ReadonlySet<number>;
  /** Whether they follow each other evenly, instead of by time. */
  readonly isInOrder: boolean;
  readonly selected: number | undefined;
  select(seq: number | undefined): void;
}

/** The width of what is shown, which changes with the window. */
const useWidth = () => {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const element = host.current!;
    const measure = () => setWidth(Math.max(500, element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {host, width};
};

const arrow = (from: Bar, to: Bar): string => {
  const [x1, y1] = [from.x + from.width, from.y + barHeight / 2];
  const [x2, y2] = [to.x, to.y + barHeight / 2];
  if (from.y === to.y) return `M${x1},${from.y} C${x1},${from.y - 12} ${x2},${from.y - 12} ${x2 + 1},${from.y - 1}`;
  const bend = Math.max(12, Math.abs(x2 - x1) / 2);
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
};

export function Lanes({reconciles, causes, looping, isInOrder, selected, select}: LanesProps) {
  const {host, width} = useWidth();
  const {lanes, bars, arrows, timeAt} = useMemo(() => {
    const names = [...new Set(reconciles.map(({controller}) => controller))].sort();
    const times = reconciles.map(({time, durationMs}) => [Date.parse(time) - durationMs, Date.parse(time)] as const);
    const from = Math.min(...times.map(([begin]) => begin));
    const to = Math.max(from + 1, ...times.map(([, last]) => last));
    const space = width - labelWidth - 24;
    const [scale, slot] = [space / (to - from), space / reconciles.length];
    const across = (at: number): Pick<Bar, 'x' | 'width'> => {
      if (isInOrder) return {x: labelWidth + at * slot, width: Math.max(3, Math.min(14, slot - 1))};
      const [begin, last] = times[at]!;
      return {x: labelWidth + (begin - from) * scale, width: Math.max(4, (last - begin) * scale)};
    };
    const placed = new Map<number, Bar>();
    for (const [at, record] of reconciles.entries()) {
      placed.set(record.seq, {
        record,
        ...across(at),
        y: top + names.indexOf(record.controller) * laneHeight + (laneHeight - barHeight) / 2,
      });
    }
    const joined = reconciles.flatMap(record =>
      causes.sourcesOf(record).flatMap(source => {
        const [one, other] = [placed.get(source.seq), placed.get(record.seq)];
        return one && other && one !== other ? [{from: one, to: other}] : [];
      }),
    );
    const shareTime = (share: number): number =>
      isInOrder ? times[Math.round(share * (reconciles.length - 1))]![1] : from + share * (to - from);
    return {lanes: names, bars: [...placed.values()], arrows: joined, timeAt: shareTime};
  }, [reconciles, causes, isInOrder, width]);
  const step = (by: number): void => {
    const at = bars.findIndex(({record}) => record.seq === selected);
    const from = at < 0 && by < 0 ? bars.length : at;
    const next = bars[Math.max(0, Math.min(bars.length - 1, from + by))];
    if (next) select(next.record.seq);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    Home: () => step(-Infinity),
    End: () => step(Infinity),
    Escape: () => select(undefined),
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(share => ({
    share,
    x: labelWidth + share * (width - labelWidth - 24),
    text: new Date(timeAt(share)).toISOString().slice(14, 23),
  }));
  return (
    <div class="lanes" ref={host} tabIndex={0} role="group" aria-label="Reconciles over time">
      <svg width={width} height={top + lanes.length * laneHeight + 6}>
        <defs>
          <marker id="cause" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
            <path d="M0,0 L8,4 L0,8 z" />
          </marker>
        </defs>
        {ticks.map(({share, x, text}) => (
          <g key={share} class="tick">
            <line x1={x} x2={x} y1={top - 4} y2={top + lanes.length * laneHeight} />
            <text x={share === 1 ? width - 4 : x} y={11} text-anchor={share === 1 ? 'end' : 'middle'}>
              {text}
            </text>
          </g>
        ))}
        {lanes.map((name, at) => (
          <g key={name}>
            <line class="lane" x1={0} x2={width} y1={top + (at + 1) * laneHeight} y2={top + (at + 1) * laneHeight} />
            <text x={6} y={top + at * laneHeight + laneHeight / 2 + 4}>
              {name.length > 30 ? `${name.slice(0, 29)}…` : name}
            </text>
          </g>
        ))}
        {arrows.map(({from, to}) => (
          <path
            key={`${from.record.seq} ${to.record.seq}`}
            class={`cause ${looping.has(from.record.seq) && looping.has(to.record.seq) && from.y === to.y ? 'loop' : ''} ${selected === to.record.seq || selected === from.record.seq ? 'near' : ''}`}
            d={arrow(from, to)}
            marker-end="url(#cause)"
          />
        ))}
        {bars.map(({record, x, y, width: long}) => (
          <rect
            key={record.seq}
            x={x}
            y={y}
            width={long}
            height={barHeight}
            rx={2}
            class={`reconcile ${record.result} ${record.seq === selected ? 'selected' : ''} ${looping.has(record.seq) ? 'looping' : ''}`}
            onClick={() => select(record.seq)}
          >
            <title>{`${record.controller} ${record.key}: ${record.result}, ${record.durationMs.toFixed(1)} ms`}</title>
          </rect>
        ))}
      </svg>
    </div>
  );
}
