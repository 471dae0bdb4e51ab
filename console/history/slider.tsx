// The time that is recorded, as a slider over how much happened when. Moving it rewinds the whole page.

import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useCell} from '#page/base/cell.js';
import {moment} from '#page/base/moment.js';
import {type FlightRecord} from '#page/api/recorder.js';

const steps = 1000;
const bars = 160;
const settleMs = 150;

const clockText = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

export function Slider({first, last, records}: {readonly first: number; readonly last: number; readonly records: readonly FlightRecord[]}) {
  const chosen = useCell(moment);
  const [dragged, setDragged] = useState<number>();
  const shown = dragged ?? chosen?.time ?? last;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setDragged(undefined), [chosen]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const span = Math.max(1, last - first);
  const counts = useMemo(() => {
    const found = Array.from({length: bars}, () => 0);
    for (const {time} of records) {
      const at = Math.floor(((Date.parse(time) - first) / span) * (bars - 1));
      if (at >= 0 && at < bars) found[at]!++;
    }
    return found;
  }, [records, first, span]);
  const most = Math.max(1, ...counts);
  const move = (value: number): void => {
    const at = value >= steps ? last : first + (span * value) / steps;
    setDragged(value >= steps ? undefined : at);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => moment.set(value >= steps ? undefined : {time: at}), settleMs);
  };
  return (
    <div class="slider">
      <svg viewBox={`0 0 ${bars} 24`} preserveAspectRatio="none" aria-hidden="true">
        {counts.map((count, at) =>
          count === 0 ? null : (
            <rect key={at} x={at} width={0.8} y={24 - 22 * Math.sqrt(count / most)} height={22 * Math.sqrt(count / most)} />
          ),
        )}
      </svg>
      <input
        type="range"
        min={0}
        max={steps}
        value={chosen === undefined && shown === last ? steps : Math.round(((shown - first) / span) * steps)}
        aria-label="Moment"
        aria-valuetext={chosen === undefined ? 'now' : clockText(shown)}
        onInput={event => move(Number(event.currentTarget.value))}
      />
      <div class="ends">
        <span>{clockText(first)}</span>
        <b>{chosen === undefined ? 'now' : clockText(shown)}</b>
        <span>{clockText(last)}</span>
      </div>
    </div>
  );
}
