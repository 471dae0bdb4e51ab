// The keys of the page. A key belongs to the innermost part that has asked for it; those of a field are the field's,
// but for Escape, which leaves it.

import {useLayoutEffect, useRef} from 'preact/hooks';
import {Cell} from './cell.js';
import {route} from './route.js';

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

const storedAs = 'letter-keys';

/** Whether keys that write something act. Who speaks to the computer writes many by mistake. */
export const letterKeys = new Cell(localStorage.getItem(storedAs) !== 'off');

/** Lets keys that write something act, or not; the browser remembers it. */
export const setLetterKeys = (areOn: boolean): void => {
  if (areOn) localStorage.removeItem(storedAs);
  else localStorage.setItem(storedAs, 'off');
  letterKeys.set(areOn);
};

const stack: {keys: Keys; readonly isModal: boolean}[] = [];

/** How long the second of two keys is waited for. */
const prefixMs = 1500;
let prefix = {key: '', since: 0};

const forgetPrefix = (): void => {
  prefix = {key: '', since: 0};
};

// What is typed there is meant for what is seen there.
route.follow(forgetPrefix);

const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && (target.matches('input, textarea, select, [contenteditable=true]') || target.shadowRoot !== null);

addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.key === 'Shift') return;
  const before = performance.now() - prefix.since < prefixMs ? prefix.key : '';
  forgetPrefix();
  if (isField(event.target)) {
    if (event.key !== 'Escape') return;
    // In a dialog it closes the dialog.
    if (!stack.some(({isModal}) => isModal)) return (document.activeElement as HTMLElement | null)?.blur();
  }
  if (event.key.length === 1 && !letterKeys.value) return;
  const key = before + event.key;
  if (key === 'g') {
    prefix = {key: 'g ', since: performance.now()};
    return;
  }
  // A part behind a dialog may have come after it.
  const dialog = stack.findLast(({isModal}) => isModal);
  const act = dialog ? dialog.keys[key] : stack.findLast(({keys}) => keys[key])?.keys[key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

const useEntry = (keys: Keys, isModal: boolean): void => {
  const entry = useRef({keys, isModal});
  entry.current.keys = keys;
  // At once: the next key may follow before the part is painted.
  useLayoutEffect(() => {
    const own = entry.current;
    stack.push(own);
    return () => void stack.splice(stack.indexOf(own), 1);
  }, []);
};

/** Handles keys while the part is shown, before the parts around it. `g x` is g, then x. */
export const useKeys = (keys: Keys): void => useEntry(keys, false);

/** Handles keys while a dialog is shown: what is behind it gets none. */
export const useDialogKeys = (keys: Keys): void => useEntry(keys, true);
