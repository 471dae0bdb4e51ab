import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client, WatchOptions} from '#src/client/client.js';

/** The time limit of each wait. */
export const waitTimeoutMs = 10_000;

export interface Awaited<T extends KubeObject> {
  readonly client: Client;
  readonly clock: Clock;
  readonly kind: Kind<T>;
  readonly name: string;
  readonly namespace?: string;
  /** Whether the object has the awaited state; throws when it never will. */
  isThere(object: T): boolean;
  /** The message after the time limit. */
  late(last: T | undefined): string;
}

/**
 * Resolves once an object has the awaited state. Rejects after the time limit, or when the object reports a final
 * failure.
 */
export const waitFor = <T extends KubeObject>({client, clock, kind, name, namespace, isThere, late}: Awaited<T>): Promise<void> =>
  new Promise((resolve, reject) => {
    let last: T | undefined;
    const options: WatchOptions = {fieldSelector: `metadata.name=${name}`, ...(namespace ? {namespace} : {})};
    const settle = (end: () => void) => {
      timer[Symbol.dispose]();
      subscription.unsubscribe();
      end();
    };
    const timer = clock.schedule(waitTimeoutMs, () => settle(() => reject(new Error(late(last)))));
    const subscription = client
      .resource(kind)
      .watch(options)
      .subscribe({
        next({type, object}) {
          if (type === 'BOOKMARK') return;
          last = type === 'DELETED' ? undefined : object;
          try {
            if (last && isThere(last)) settle(resolve);
          } catch (error) {
            settle(() => reject(error as Error));
          }
        },
        error: error => settle(() => reject(error as Error)),
        complete: () => settle(() => reject(new Error(late(last)))),
      });
  });
