// Runs a command in a container, by the streams of `kubectl exec` over a WebSocket.

import {useEffect, useRef, useState} from 'preact/hooks';
import type {AnyObject} from '#page/api/objects.js';
import {Notice} from '#page/ui/parts.js';
import {containersOf, podPath} from './containers.js';
import {ContainerChoice} from './container-choice.js';

const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
/** What the first byte of each message says it is. */
const channels = {stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255};
const mostCharacters = 200_000;

/** What a terminal would do with escape sequences: the page has none, and leaves them out. */
const plainText = (text: string): string => {
  let plain = '';
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== '\u001b') {
      if (text[at] !== '\r') plain += text[at];
    } else if (text[at + 1] === '[') {
      at += 2;
      while (at < text.length && !/[@-~]/.test(text[at]!)) at++;
    } else at++;
  }
  return plain;
};

/** Splits a command into words, as a shell does with quotes. */
export const wordsOf = (command: string): string[] => {
  const words: string[] = [];
  let [word, quote, isOpen] = ['', '', false];
  for (const character of command) {
    if (quote) {
      if (character === quote) quote = '';
      else word += character;
    } else if (character === '"' || character === "'") [quote, isOpen] = [character, true];
    else if (character === ' ') {
      if (word || isOpen) words.push(word);
      [word, isOpen] = ['', false];
    } else word += character;
  }
  return word || isOpen ? [...words, word] : words;
};

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly details?: {readonly causes?: readonly {readonly reason?: string; readonly message?: string}[]};
}

const outcomeOf = (text: string): string => {
  const {status, message = '', details} = JSON.parse(text) as Status;
  const code = details?.causes?.find(({reason}) => reason === 'ExitCode')?.message;
  return status === 'Success' ? 'The command has ended with 0.' : code === undefined ? message : `The command has ended with ${code}.`;
};

export function Exec({pod}: {readonly pod: AnyObject}) {
  const containers = containersOf(pod);
  const [container, setContainer] = useState(containers[0]?.name ?? '');
  const [command, setCommand] = useState('sh');
  const [output, setOutput] = useState('');
  const [outcome, setOutcome] = useState('');
  const [line, setLine] = useState('');
  const [past, setPast] = useState<readonly string[]>([]);
  const [at, setAt] = useState(0);
  const socket = useRef<WebSocket | null>(null);
  const [isOpen, setOpen] = useState(false);
  const screen = useRef<HTMLPreElement>(null);
  useEffect(() => () => socket.current?.close(), []);
  useEffect(() => {
    if (screen.current) screen.current.scrollTop = screen.current.scrollHeight;
  }, [output, outcome]);
  const show = (text: string) => setOutput(known => (known + plainText(text)).slice(-mostCharacters));

  const run = (): void => {
    socket.current?.close();
    setOutcome('');
    const query = new URLSearchParams([
      ['container', container],
      ['stdin', 'true'],
      ['stdout', 'true'],
      ['stderr', 'true'],
      ...wordsOf(command).map(word => ['command', word]),
    ]);
    const opened = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${podPath(pod, 'exec')}?${query}`, protocols);
    opened.binaryType = 'arraybuffer';
    socket.current = opened;
    const decoders = [new TextDecoder(), new TextDecoder(), new TextDecoder(), new TextDecoder()];
    let hasOutcome = false;
    opened.addEventListener('open', () => setOpen(true));
    opened.addEventListener('message', ({data}) => {
      const message = new Uint8Array(data as ArrayBuffer);
      const channel = message[0] ?? 0;
      const text = decoders[channel]?.decode(message.subarray(1), {stream: channel !== channels.error}) ?? '';
      if (channel !== channels.error) return show(text);
      hasOutcome = true;
      setOutcome(outcomeOf(text));
    });
    opened.addEventListener('close', () => {
      if (socket.current !== opened) return;
      setOpen(false);
      if (!hasOutcome) setOutcome('The connection was closed: the container does not run, or has no such command, or this is not allowed.');
    });
  };
  const send = (text: string): void => {
    show(`› ${text}\n`);
    socket.current?.send(Uint8Array.from([channels.stdin, ...new TextEncoder().encode(`${text}\n`)]));
    setPast([...past, text]);
    setAt(past.length + 1);
    setLine('');
  };
  const end = (): void => {
    const {current} = socket;
    if (current?.protocol === protocols[0]) current?.send(Uint8Array.from([channels.close, channels.stdin]));
    else current?.close();
  };
  return (
    <div class="logs">
      <form
        class="bar"
        onSubmit={event => {
          event.preventDefault();
          run();
        }}
      >
        <ContainerChoice containers={containers} value={container} choose={setContainer} />
        <label class="grow">
          Command <input value={command} onInput={event => setCommand(event.currentTarget.value)} spellcheck={false} />
        </label>
        <button class="primary">Run</button>
      </form>
      <pre ref={screen} class="output" tabIndex={0} aria-label="Output" aria-live="polite">
        {output}
      </pre>
      {outcome ? <Notice>{outcome}</Notice> : null}
      {isOpen ? (
        <form
          class="bar"
          onSubmit={event => {
            event.preventDefault();
            send(line);
          }}
        >
          <input
            class="grow mono"
            aria-label="Input"
            placeholder="Input: a line, then Enter"
            autofocus
            spellcheck={false}
            autocomplete="off"
            value={line}
            onInput={event => setLine(event.currentTarget.value)}
            onKeyDown={event => {
              const next = event.key === 'ArrowUp' ? at - 1 : event.key === 'ArrowDown' ? at + 1 : undefined;
              if (next === undefined || next < 0 || next > past.length) return;
              event.preventDefault();
              setAt(next);
              setLine(past[next] ?? '');
            }}
          />
          <button type="button" onClick={end} title="End of the input">
            End
          </button>
        </form>
      ) : null}
    </div>
  );
}
