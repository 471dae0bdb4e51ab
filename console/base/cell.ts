import {useEffect, useState} from 'preact/hooks';

/** A value that those who show it follow. */
export class Cell<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of Array.from(this.#listeners)) listener();
  }

  follow(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** Returns the value of a cell, and again whenever it changes. */
export const useCell = <T>(cell: Cell<T>): T => {
  const [, redraw] = useState(0);
  useEffect(() => {
    const changed = () => redraw(count => count + 1);
    const stop = cell.follow(changed);
    changed(); // It may have changed between the first drawing and now.
    return stop;
  }, [cell]);
  return cell.value;
};
