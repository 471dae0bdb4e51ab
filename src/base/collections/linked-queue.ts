/** An element of a list; it is in at most one. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/** A queue from which any element can be removed at once. */
export class LinkedQueue<T extends Linked<T>> implements Iterable<T> {
  #first: T | undefined;
  #last: T | undefined;
  #length = 0;

  get first(): T | undefined {
    return this.#first;
  }

  get length(): number {
    return this.#length;
  }

  push(element: T): void {
    element.previous = this.#last;
    element.next = undefined;
    if (this.#last) this.#last.next = element;
    else this.#first = element;
    this.#last = element;
    this.#length++;
  }

  /** Removes an element that is in this list. */
  remove(element: T): void {
    const {previous, next} = element;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    element.previous = element.next = undefined;
    this.#length--;
  }

  /** Removes all elements. */
  clear(): void {
    this.#first = this.#last = undefined;
    this.#length = 0;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let element = this.#first; element; element = element.next) yield element;
  }
}
