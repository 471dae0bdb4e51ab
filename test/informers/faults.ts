import {
  concat,
  defer,
  EMPTY,
  endWith,
  ignoreElements,
  merge,
  mergeMap,
  NEVER,
  Observable,
  share,
  Subject,
  takeUntil,
  throwError,
} from 'rxjs';
import type {KubeList, KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {ListOptions, WatchOptions} from '#src/client/client.js';
import type {ListerWatcher} from '#informers/lister-watcher.js';

/** A lister-watcher over a real server in which every fault can be injected, and which records its requests. */
export class FaultyApi<T extends KubeObject> implements ListerWatcher<T> {
  readonly calls: string[] = [];
  /** Refusals for the next lists and watches, one each. */
  readonly listFaults: (Error | 'hang')[] = [];
  readonly watchFaults: (Error | 'close')[] = [];
  /** After how many events the next watches fall silent, a number each. */
  readonly silentAfter: number[] = [];
  repeatsEvents = false;
  readonly #api: ListerWatcher<T>;
  readonly #faults = new Subject<WatchEvent<T>>();
  readonly #closes = new Subject<void>();
  readonly #cuts = new Subject<void>();
  #silent = false;
  /** The answer of `isProbed`; nothing where every connection is. */
  probed: boolean | undefined;
  readonly timeouts: number[] = [];
  /** How many watches are open now. */
  open = 0;

  constructor(api: ListerWatcher<T>) {
    this.#api = api;
  }

  get isProbed(): (() => Promise<boolean>) | undefined {
    const {probed} = this;
    return probed === undefined ? undefined : () => Promise.resolve(probed);
  }

  get initialEventsEnd(): readonly string[] | undefined {
    return this.#api.initialEventsEnd;
  }

  async list(options: ListOptions): Promise<KubeList<T>> {
    this.calls.push(`list rv=${options.resourceVersion ?? ''} limit=${options.limit ?? ''}${options.continue ? ' continued' : ''}`);
    const fault = this.listFaults.shift();
    if (fault === 'hang')
      return new Promise((_, reject) => options.signal?.addEventListener('abort', () => reject(options.signal?.reason)));
    if (fault) throw fault;
    return this.#api.list(options);
  }

  watch(options: WatchOptions): Observable<WatchEvent<T>> {
    this.calls.push(options.sendInitialEvents ? `stream rv=${options.resourceVersion ?? ''}` : 'watch');
    this.timeouts.push(options.timeoutSeconds ?? 0);
    const fault = this.watchFaults.shift();
    if (fault === 'close') return new Observable(subscriber => subscriber.complete());
    if (fault) return throwError(() => fault);
    return new Observable(subscriber => {
      this.open++;
      this.#silent = false;
      let left = this.silentAfter.shift() ?? Infinity;
      subscriber.add(() => this.open--);
      const real = this.#api.watch(options).pipe(share());
      const realEnds = real.pipe(ignoreElements(), endWith(true));
      subscriber.add(
        merge(
          this.#faults.pipe(takeUntil(realEnds)),
          concat(
            real,
            defer(() => (this.#silent ? NEVER : EMPTY)),
          ),
          this.#cuts.pipe(
            takeUntil(realEnds),
            mergeMap(() => throwError(() => new Error('connection reset by peer'))),
          ),
        )
          .pipe(takeUntil(this.#closes))
          .subscribe({
            next: event => {
              if (this.#silent || left-- <= 0) return;
              subscriber.next(event);
              if (this.repeatsEvents) subscriber.next(event);
            },
            error: error => subscriber.error(error),
            complete: () => subscriber.complete(),
          }),
      );
    });
  }

  /** Every open watch ends, as when the server or the network closes it. */
  disconnect(): void {
    this.#closes.next();
  }

  /** Every open watch breaks, as when something on the way cuts its connection. */
  cut(): void {
    this.#cuts.next();
  }

  /** Every open watch falls silent without being closed. */
  goSilent(): void {
    this.#silent = true;
  }

  /** An item that the server did not send. */
  report(event: WatchEvent<T>): void {
    this.#faults.next(event);
  }
}
