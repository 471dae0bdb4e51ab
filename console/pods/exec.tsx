// Runs a command in a container, by the streams of `kubectl exec` over a WebSocket.

import {useEffect, useRef, useState} from 'preact/hooks';
import type {AnyObject} from '#page/api/objects.js';
import {Notice} from '#page/ui/parts.js';
import {containersOf, podPath} from './containers.js';
import {ContainerChoice} from './container-choice.js';
import {Terminal, type Size, type TerminalHandle} from './terminal.js';

const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
/** What the first byte of each message says it is. */
const channels = {stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4};

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
  const [outcome, setOutcome] = useState('');
  const [isOpen, setOpen] = useState(false);
  const socket = useRef<WebSocket | null>(null);
  const terminal = useRef<TerminalHandle | null>(null);
  useEffect(() => () => socket.current?.close(), []);

  const send = (channel: number, bytes: Uint8Array): void => {
    if (socket.current?.readyState === WebSocket.OPEN) socket.current.send(Uint8Array.from([channel, ...bytes]));
  };
  const resize = ({columns, rows}: Size): void =>
    send(channels.resize, new TextEncoder().encode(JSON.stringify({Width: columns, Height: rows})));

  const run = (): void => {
    socket.current?.close();
    setOutcome('');
    // A terminal has one output.
    const query = new URLSearchParams([
      ['container', container],
      ['stdin', 'true'],
      ['stdout', 'true'],
      ['tty', 'true'],
      ...wordsOf(command).map(word => ['command', word]),
    ]);
    const opened = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${podPath(pod, 'exec')}?${query}`, protocols);
    opened.binaryType = 'arraybuffer';
    socket.current = opened;
    let hasOutcome = false;
    opened.addEventListener('open', () => {
      setOpen(true);
      terminal.current?.begin();
      if (terminal.current) resize(terminal.current.size);
    });
    opened.addEventListener('message', ({data}) => {
      const message = new Uint8Array(data as ArrayBuffer);
      if (socket.current !== opened) return;
      if (message[0] !== channels.error) return terminal.current?.write(message.subarray(1));
      hasOutcome = true;
      setOutcome(outcomeOf(new TextDecoder().decode(message.subarray(1))));
    });
    opened.addEventListener('close', () => {
      if (socket.current !== opened) return;
      setOpen(false);
      if (!hasOutcome) setOutcome('The connection was closed: the container does not run, or has no such command, or this is not allowed.');
    });
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
        {isOpen ? (
          <button type="button" onClick={() => socket.current?.close()} title="Ends the connection, and with it the command">
            Disconnect
          </button>
        ) : null}
      </form>
      <Terminal typed={bytes => send(channels.stdin, bytes)} resized={resize} made={handle => void (terminal.current = handle)} />
      {outcome ? <Notice>{outcome}</Notice> : null}
      <p class="hint">
        All keys go to the command; <kbd>Shift</kbd>+<kbd>Tab</kbd> leaves the terminal.
      </p>
    </div>
  );
}
