// The small parts that all views share.

import type {ComponentChildren} from 'preact';
import {useLayoutEffect, useRef} from 'preact/hooks';
import {Cell, useCell} from '#page/base/cell.js';
import {useDialogKeys} from '#page/base/keys.js';

const good = new Set([
  'Running',
  'Ready',
  'Active',
  'Bound',
  'Succeeded',
  'Completed',
  'Complete',
  'Available',
  'Healthy',
  'True',
  'Established',
  'Approved,Issued',
  'Approved',
  'Normal',
]);
const waiting = new Set([
  'Pending',
  'ContainerCreating',
  'Terminating',
  'Unknown',
  'Init',
  'Progressing',
  'Suspended',
  'Ready,SchedulingDisabled',
  'Warning',
  'NotReady',
  'Released',
  'Available=False',
]);

export type Tone = 'good' | 'waiting' | 'bad' | 'plain';

/** Returns how a word of a status is shown. */
export const toneOf = (status: string): Tone => {
  if (good.has(status)) return 'good';
  if (status.startsWith('Init:') || waiting.has(status)) return status === 'NotReady' || status === 'Warning' ? 'bad' : 'waiting';
  if (/error|fail|backoff|evicted|denied|oom|lost|invalid|crash|notready/i.test(status)) return 'bad';
  return 'plain';
};

/** A word with a mark: its colour is never all that tells it. */
export function Status({of, tone = toneOf(of)}: {readonly of: string; readonly tone?: Tone}) {
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{{good: '●', waiting: '◐', bad: '▲', plain: '○'}[tone]}</span> {of}
    </span>
  );
}

export function Notice({tone = 'plain', children}: {readonly tone?: Tone; readonly children: ComponentChildren}) {
  return (
    <p class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </p>
  );
}

export function Panel({
  title,
  aside,
  children,
  class: name = '',
}: {
  readonly title: ComponentChildren;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly class?: string;
}) {
  return (
    <section class={`panel ${name}`}>
      <header>
        <h2>{title}</h2>
        {aside ? <div class="aside">{aside}</div> : null}
      </header>
      {children}
    </section>
  );
}

/** A dialog over the page, which Escape closes; the focus goes back to where it was. */
export function Dialog({
  title,
  close,
  children,
  isWide = false,
}: {
  readonly title: string;
  close(): void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}) {
  const element = useRef<HTMLDialogElement>(null);
  // At once: what is typed after the key that opens it is for it.
  useLayoutEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  useDialogKeys({Escape: close});
  return (
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-label={title}
      onCancel={event => {
        event.preventDefault();
        close();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface Message {
  readonly text: string;
  readonly tone: Tone;
}

const message = new Cell<Message | undefined>(undefined);
let hiding: ReturnType<typeof setTimeout> | undefined;

/** Says for some seconds what has happened. */
export const say = (text: string, tone: Tone = 'good'): void => {
  message.set({text, tone});
  clearTimeout(hiding);
  hiding = setTimeout(() => message.set(undefined), tone === 'bad' ? 12_000 : 5000);
};

export function Messages() {
  const shown = useCell(message);
  return (
    <div class="messages" aria-live="polite">
      {shown ? (
        <p class={`notice ${shown.tone}`}>
          {shown.text}
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => message.set(undefined)}>
            ✕
          </button>
        </p>
      ) : null}
    </div>
  );
}

/** The names of views of one thing, one of which is shown. */
export function Tabs({
  tabs,
  now,
  hrefOf,
}: {
  readonly tabs: readonly (readonly [id: string, title: string])[];
  readonly now: string;
  hrefOf(id: string): string;
}) {
  return (
    <nav class="tabs" aria-label="Views of the object">
      {tabs.map(([id, title]) => (
        <a key={id} href={hrefOf(id)} aria-current={id === now ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
