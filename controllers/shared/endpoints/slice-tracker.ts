import {keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * Tracks the last written generation of each slice, to distinguish its own changes from others', and to detect a stale
 * cache.
 */
export interface SliceTracker {
  wrote(slice: Frozen<KubeObject>): void;
  deleted(slice: Frozen<KubeObject>): void;
  /** Whether another client wrote the current state of the slice. */
  isUnexpected(slice: Frozen<KubeObject>): boolean;
  /** Whether another client deleted the slice. Removes the slice. */
  isUnexpectedDeletion(slice: Frozen<KubeObject>): boolean;
  /** Called when the slice no longer belongs to the service. */
  left(slice: Frozen<KubeObject>): void;
  /**
   * Whether the cached slices of the service are older than the written ones: one is missing, outdated, or still there.
   */
  isStale(service: ObjectKey, slices: readonly Frozen<KubeObject>[]): boolean;
  forget(service: ObjectKey): void;
}

const gone = -1;

const generationOf = ({metadata}: Frozen<KubeObject>): number => metadata?.generation ?? 0;
const uidOf = ({metadata}: Frozen<KubeObject>): string => metadata?.uid ?? '';

/** Slices are grouped by their service label. */
export const sliceTracker = (serviceLabel: string): SliceTracker => {
  const services = new Map<string, Map<string, number>>();
  const keyFor = ({metadata}: Frozen<KubeObject>): string =>
    keyText({namespace: metadata?.namespace ?? '', name: metadata?.labels?.[serviceLabel] ?? ''});
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
