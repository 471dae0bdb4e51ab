import type {Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client, WatchOptions} from '#src/client/client.js';

/** How long anything may take to become what it is waited for. */
export const waitTimeoutMs = 10_000;

export interface Awaited<T extends KubeObject> {
  readonly client: Client;
  readonly clock: Clock;
  readonly kind: Kind<T>;
  readonly name: string;
  readonly namespace?: string;
  /** Whether the object is as wished; throws when it never will be. */
  isThere(object: T): boolean;
  /** What to say when it is not in time. */
  late(last: T | undefined): string;
}

/** Resolves once an object is as wished. Rejects when that takes too long, or the object says that it will not be. */
export const until = <T extends KubeObject>({client, clock, kind, name, namespace, isThere, late}: Awaited<T>): Promise<void> =>
  new Promise((resolve, reject) => {
    let last: T | undefined;
    const options: WatchOptions = {fieldSelector: `metadata.name=${name}`, ...(namespace ? {namespace} : {})};
    const settle = (end: () => void) => {
      timer[Symbol.dispose]();
      subscription.unsubscribe();
      end();
    };
    const timer = clock.schedule(waitTimeoutMs, () => settle(() => reject(new Error(late(last)))));
    const subscription = client.resource(kind).watch(options).subscribe({
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
