// The time of the cluster: real, or virtual and moved from here.

import {useEffect, useState} from 'preact/hooks';
import {shortDuration} from '#page/base/format.js';
import {virtualNow} from '#page/base/now.js';
import {messageOf} from '#src/base/message.js';
import {call} from '#page/api/call.js';
import {Notice, Panel, Status} from '#page/ui/parts.js';

interface TimeState {
  readonly kind: 'real' | 'virtual';
  readonly now: number;
  readonly next?: number;
  readonly timers?: number;
  readonly rate?: number;
  readonly isMoving?: boolean;
  readonly error?: string;
}

const steps: readonly (readonly [ms: number, text: string])[] = [
  [1000, '1 s'],
  [10_000, '10 s'],
  [60_000, '1 min'],
  [600_000, '10 min'],
  [3_600_000, '1 h'],
  [86_400_000, '1 day'],
];

const rates: readonly (readonly [rate: number, text: string])[] = [
  [1, 'as real time'],
  [10, '10 ×'],
  [60, '60 ×'],
  [3600, '3,600 ×'],
];

const everyMs = 500;

const useTime = () => {
  const [state, setState] = useState<TimeState>();
  const [error, setError] = useState('');
  const read = (act?: object): Promise<void> =>
    call<TimeState>('/console/v1/time', act ? {method: 'POST', body: JSON.stringify(act)} : {}).then(
      known => {
        setState(known);
        if (known.kind === 'virtual') virtualNow.set(known.now);
        if (act) setError('');
      },
      (failure: unknown) => setError(messageOf(failure)),
    );
  useEffect(() => {
    void read();
    const timer = setInterval(() => document.hidden || void read(), everyMs);
    return () => clearInterval(timer);
  }, []);
  return {state, error, act: (request: object) => void read(request)};
};

export function Time() {
  const {state, error, act} = useTime();
  const [minutes, setMinutes] = useState('5');
  if (!state) return <Notice tone={error ? 'bad' : 'plain'}>{error || 'Reading…'}</Notice>;
  const text = new Date(state.now).toISOString();
  const isBusy = state.isMoving === true;
  return (
    <div class="time">
      <h1>Time</h1>
      <p class="clock">
        <span class="mono">{text.slice(0, 10)}</span> <b class="mono">{text.slice(11, 23)}</b> <small>UTC</small>
      </p>
      {state.kind === 'real' ? (
        <Notice>
          This cluster runs on real time, which cannot be moved. A plane in a test can be on a virtual clock: startPlane with a
          VirtualClock, and the console of that plane, stop, run and advance it here.
        </Notice>
      ) : (
        <>
          <p>
            <Status
              of={
                isBusy
                  ? state.rate
                    ? `runs, ${state.rate.toLocaleString('en')} times as fast as real time`
                    : 'is being advanced'
                  : 'stands still'
              }
              tone={isBusy ? 'good' : 'plain'}
            />{' '}
            <small>
              {state.timers?.toLocaleString('en')} timers wait
              {state.next === undefined
                ? ''
                : `, the next is due in ${state.next - state.now < 1000 ? `${Math.max(0, Math.round(state.next - state.now))} ms` : shortDuration(state.next - state.now)}`}
            </small>
          </p>
          {error || state.error ? <Notice tone="bad">{error || state.error}</Notice> : null}
          <Panel title="Advance">
            <div class="bar">
              <button type="button" class="primary" disabled={isBusy || state.next === undefined} onClick={() => act({action: 'next'})}>
                To the next event
              </button>
              {steps.map(([ms, name]) => (
                <button type="button" key={ms} disabled={isBusy} onClick={() => act({action: 'advance', ms})}>
                  {name}
                </button>
              ))}
              <form
                class="bar"
                onSubmit={event => {
                  event.preventDefault();
                  act({action: 'advance', ms: Number(minutes) * 60_000});
                }}
              >
                <input
                  class="short"
                  type="number"
                  min="0.001"
                  step="any"
                  aria-label="Minutes"
                  value={minutes}
                  onInput={event => setMinutes(event.currentTarget.value)}
                />
                <button disabled={isBusy}>minutes</button>
              </form>
            </div>
          </Panel>
          <Panel title="Run">
            <div class="bar">
              {rates.map(([rate, name]) => (
                <button type="button" key={rate} disabled={isBusy} onClick={() => act({action: 'run', rate})}>
                  {name}
                </button>
              ))}
              <button type="button" class="primary" disabled={!isBusy} onClick={() => act({action: 'pause'})}>
                Pause
              </button>
            </div>
          </Panel>
        </>
      )}
    </div>
  );
}
