// A terminal, for the input and the output of a command.

import {FitAddon} from '@xterm/addon-fit';
import {Terminal as Screen, type ITheme} from '@xterm/xterm';
import {useEffect, useRef} from 'preact/hooks';
import {theme} from '#page/shell/theme.js';
import {asTerminalDocument, terminalDocument} from './terminal-document.js';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What is shown and read. */
export interface TerminalHandle {
  write(bytes: Uint8Array): void;
  /** Empties the screen and takes the focus. */
  begin(): void;
  readonly size: Size;
}

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const themeOf = (): ITheme => ({
  background: colour('surface'),
  foreground: colour('text'),
  cursor: colour('accent'),
  selectionBackground: colour('selection'),
  selectionForeground: colour('text'),
});

interface TerminalParts {
  typed(bytes: Uint8Array): void;
  resized(size: Size): void;
  made(handle: TerminalHandle): void;
}

/**
 * All keys are those of the command, besides Shift+Tab, which leaves the terminal: nobody who has no pointer is caught
 * in it.
 */
export function Terminal({typed, resized, made}: TerminalParts) {
  const host = useRef<HTMLDivElement>(null);
  const parts = useRef({typed, resized});
  parts.current = {typed, resized};
  useEffect(() => {
    const screen = new Screen({
      documentOverride: terminalDocument,
      fontFamily: colour('mono'),
      fontSize: 13,
      scrollback: 5000,
      screenReaderMode: true,
      minimumContrastRatio: 4.5,
      theme: themeOf(),
    });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    asTerminalDocument(() => screen.open(host.current!));
    screen.textarea?.setAttribute('aria-label', 'Terminal');
    screen.attachCustomKeyEventHandler(event => !(event.key === 'Tab' && event.shiftKey));
    const encoder = new TextEncoder();
    screen.onData(text => parts.current.typed(encoder.encode(text)));
    screen.onBinary(text => parts.current.typed(Uint8Array.from(text, character => character.charCodeAt(0))));
    const size = (): Size => ({columns: screen.cols, rows: screen.rows});
    screen.onResize(() => parts.current.resized(size()));
    const watching = new ResizeObserver(() => fit.fit());
    watching.observe(host.current!);
    fit.fit();
    const stop = theme.follow(() => void (screen.options.theme = themeOf()));
    made({
      write: bytes => screen.write(bytes),
      begin() {
        screen.reset();
        screen.focus();
      },
      get size() {
        return size();
      },
    });
    return () => {
      stop();
      watching.disconnect();
      screen.dispose();
    };
  }, []);
  // Keys of the page are not for a command.
  return <div ref={host} class="command-screen" onKeyDown={event => event.stopPropagation()} />;
}
