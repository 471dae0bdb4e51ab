import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {useKeys} from '#page/base/keys.js';
import {messageOf} from '#src/base/message.js';
import type {AnyObject} from '#page/api/objects.js';
import {Notice} from '#page/ui/parts.js';
import {containersOf, podPath} from './containers.js';
import {ContainerChoice} from './container-choice.js';
import {LogLines, type LogBlock} from './log-lines.js';
import {readLog} from './log-source.js';

/** How often what has been read is drawn. */
const drawMs = 100;

interface LogState {
  readonly blocks: readonly LogBlock[];
  readonly count: number;
  /** Why there is no more. */
  readonly end: string;
}

const nothing: LogState = {blocks: [], count: 0, end: ''};

/** Follows a log while it is shown. */
const useLog = (path: string, container: string, isPrevious: boolean): LogState => {
  const [state, setState] = useState(nothing);
  useEffect(() => {
    const closed = new AbortController();
    const {signal} = closed;
    const lines = new LogLines();
    let drawing: ReturnType<typeof setTimeout> | undefined;
    const draw = (end: string): void => {
      clearTimeout(drawing);
      drawing = undefined;
      if (!signal.aborted) setState({blocks: lines.blocks, count: lines.count, end});
    };
    const ended = (end: string): void => {
      lines.end();
      draw(end);
    };
    setState(nothing);
    readLog({path, container, isPrevious}, signal, text => {
      lines.add(text);
      drawing ??= setTimeout(() => draw(''), drawMs);
    }).then(
      () => ended('The log has ended.'),
      (error: unknown) => ended(messageOf(error)),
    );
    return () => {
      closed.abort();
      clearTimeout(drawing);
    };
  }, [path, container, isPrevious]);
  return state;
};

/** Returns the lines that have a text, in the blocks that they are in. */
const useFiltered = (blocks: readonly LogBlock[], wanted: string): readonly LogBlock[] => {
  // Only what is new is looked at.
  const known = useMemo(() => new WeakMap<LogBlock, LogBlock>(), [wanted]);
  return useMemo(() => {
    if (wanted === '') return blocks;
    return blocks.map(block => {
      const found = known.get(block) ?? {id: block.id, lines: block.lines.filter(line => line.toLowerCase().includes(wanted))};
      known.set(block, found);
      return found;
    });
  }, [blocks, wanted]);
};

/** Lines that are drawn once, while others come and go. */
function Lines({lines}: {readonly lines: readonly string[]}) {
  return useMemo(() => <div>{lines.map(line => `${line}\n`).join('')}</div>, [lines]);
}

export function Logs({pod}: {readonly pod: AnyObject}) {
  const containers = containersOf(pod);
  const [container, setContainer] = useState(containers[0]?.name ?? '');
  const [isPrevious, setPrevious] = useState(false);
  const [text, setText] = useState('');
  const [isAtEnd, setAtEnd] = useState(true);
  const output = useRef<HTMLPreElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const path = podPath(pod, 'log');
  useKeys({'/': () => field.current?.focus()});
  const {blocks, count, end} = useLog(path, container, isPrevious);
  const wanted = text.toLowerCase();
  const shown = useFiltered(blocks, wanted);
  const shownCount = wanted ? shown.reduce((sum, {lines}) => sum + lines.length, 0) : count;
  // In the same step as the lines are drawn: otherwise it looks as if the reader had scrolled.
  useLayoutEffect(() => {
    if (isAtEnd && output.current) output.current.scrollTop = output.current.scrollHeight;
  }, [shown, isAtEnd]);
  return (
    <div class="logs">
      <div class="bar">
        <ContainerChoice containers={containers} value={container} choose={setContainer} />
        <label>
          <input type="checkbox" checked={isPrevious} onChange={event => setPrevious(event.currentTarget.checked)} /> Before its last
          restart
        </label>
        <input
          ref={field}
          type="search"
          aria-label="Filter lines"
          placeholder="Filter lines   /"
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
        <span class="count">{shownCount.toLocaleString('en')} lines</span>
        {isAtEnd ? null : (
          <button type="button" onClick={() => setAtEnd(true)}>
            To the end
          </button>
        )}
      </div>
      <pre
        ref={output}
        class="output"
        tabIndex={0}
        aria-label="Log"
        onScroll={({currentTarget: {scrollTop, scrollHeight, clientHeight}}) => setAtEnd(scrollTop + clientHeight >= scrollHeight - 20)}
      >
        {shown.map(({id, lines}) => (
          <Lines key={id} lines={lines} />
        ))}
      </pre>
      {end ? <Notice>{end}</Notice> : null}
    </div>
  );
}
