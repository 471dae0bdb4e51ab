import {useEffect, useRef, useState} from 'preact/hooks';
import {useKeys} from '#page/base/keys.js';
import {messageOf} from '#src/base/message.js';
import {respond} from '#page/api/call.js';
import type {AnyObject} from '#page/api/objects.js';
import {Notice} from '#page/ui/parts.js';
import {containersOf, podPath} from './containers.js';
import {ContainerChoice} from './container-choice.js';

/** The most of a log that the page keeps; what is older goes. */
const mostLines = 5000;
const tailLines = '1000';

interface Source {
  readonly container: string;
  readonly isPrevious: boolean;
}

/** Reads a log to its end, and as it grows. */
const follow = async (
  path: string,
  {container, isPrevious}: Source,
  signal: AbortSignal,
  add: (lines: string[]) => void,
): Promise<void> => {
  const query = new URLSearchParams({container, tailLines, ...(isPrevious ? {previous: 'true'} : {follow: 'true'})});
  const {body} = await respond(`${path}?${query}`, {accept: 'text/plain', signal});
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) add(lines);
  }
  if (rest) add([rest]);
};

export function Logs({pod}: {readonly pod: AnyObject}) {
  const containers = containersOf(pod);
  const [container, setContainer] = useState(containers[0]?.name ?? '');
  const [isPrevious, setPrevious] = useState(false);
  const [lines, setLines] = useState<readonly string[]>([]);
  const [state, setState] = useState('');
  const [text, setText] = useState('');
  const [isAtEnd, setAtEnd] = useState(true);
  const output = useRef<HTMLPreElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const path = podPath(pod, 'log');
  useKeys({'/': () => field.current?.focus()});
  useEffect(() => {
    const closed = new AbortController();
    const {signal} = closed;
    setLines([]);
    setState('');
    follow(path, {container, isPrevious}, signal, more => setLines(known => [...known, ...more].slice(-mostLines))).then(
      () => setState('The log has ended.'),
      (error: unknown) => signal.aborted || setState(messageOf(error)),
    );
    return () => closed.abort();
  }, [path, container, isPrevious]);
  useEffect(() => {
    if (isAtEnd && output.current) output.current.scrollTop = output.current.scrollHeight;
  }, [lines, text, isAtEnd]);
  const wanted = text.toLowerCase();
  const shown = wanted ? lines.filter(line => line.toLowerCase().includes(wanted)) : lines;
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
        <span class="count">{shown.length.toLocaleString('en')} lines</span>
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
        {shown.join('\n')}
      </pre>
      {state ? <Notice>{state}</Notice> : null}
    </div>
  );
}
