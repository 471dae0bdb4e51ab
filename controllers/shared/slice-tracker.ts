import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** Knows which generation of each slice a controller wrote last, so that it tells its own changes from others', and does not act on a cache that has not caught up. */
export interface SliceTracker {
  wrote(slice: Frozen<KubeObject>): void;
  deleted(slice: Frozen<KubeObject>): void;
  /** Whether somebody else must have written the slice as it is now. */
  isUnexpected(slice: Frozen<KubeObject>): boolean;
  /** Whether the slice, of those the controller wrote, is gone without its doing. Forgets the slice. */
  isUnexpectedDeletion(slice: Frozen<KubeObject>): boolean;
  /** The slice, which looked like that, is the service's no more: it is not waited for. */
  left(slice: Frozen<KubeObject>): void;
  /** Whether the slices of the service, as the cache has them, are older than what was written: one is missing, behind, or still there. */
  isStale(service: ObjectKey, slices: readonly Frozen<KubeObject>[]): boolean;
  forget(service: ObjectKey): void;
}

const gone = -1;

const generationOf = ({metadata}: Frozen<KubeObject>): number => metadata?.generation ?? 0;
const uidOf = ({metadata}: Frozen<KubeObject>): string => metadata?.uid ?? '';

/** Slices are told apart by the service that their label names. */
export const sliceTracker = (serviceLabel: string): SliceTracker => {
  const services = new Map<string, Map<string, number>>();
  const keyFor = ({metadata}: Frozen<KubeObject>): string => keyText({namespace: metadata?.namespace ?? '', name: metadata?.labels?.[serviceLabel] ?? ''});
  const note = (slice: Frozen<KubeObject>, generation: number): void => {
    const key = keyFor(slice);
    const known = services.get(key);
    if (known) known.set(uidOf(slice), generation);
    else services.set(key, new Map([[uidOf(slice), generation]]));
  };
  return {
    wrote: slice => note(slice, generationOf(slice)),
    deleted: slice => note(slice, gone),
    isUnexpected(slice) {
      const written = services.get(keyFor(slice))?.get(uidOf(slice));
      return written === undefined || generationOf(slice) > written;
    },
    isUnexpectedDeletion(slice) {
      const known = services.get(keyFor(slice));
      const written = known?.get(uidOf(slice));
      known?.delete(uidOf(slice));
      return written !== undefined && written !== gone;
    },
    left: slice => void services.get(keyFor(slice))?.delete(uidOf(slice)),
    isStale(service, slices) {
      const known = services.get(keyText(service));
      if (!known) return false;
      const seen = new Map(slices.map(slice => [uidOf(slice), generationOf(slice)]));
      for (const [uid, written] of known) {
        const cached = seen.get(uid);
        if (written === gone ? cached !== undefined : cached === undefined || cached < written) return true;
      }
      return false;
    },
    forget: service => void services.delete(keyText(service)),
  };
};
