// The blocks of memory of containers. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {maskOf} from '#src/platlet/topology-manager/mask.js';
import {withReleased, type MemoryBlock, type MemoryState} from './state.js';

/** Returns the state with the blocks of a container. */
export const withBlocks = (state: MemoryState, uid: string, container: string, blocks: readonly MemoryBlock[]): MemoryState => ({
  ...state,
  assignments: new Map(state.assignments).set(uid, new Map(state.assignments.get(uid)).set(container, blocks)),
});

/** Returns the state with the blocks of a container given back. */
export const withoutBlocks = (state: MemoryState, uid: string, container: string): MemoryState => {
  const blocks = state.assignments.get(uid)?.get(container);
  if (!blocks) return state;
  const ofPod = new Map(state.assignments.get(uid));
  ofPod.delete(container);
  const assignments = new Map(state.assignments).set(uid, ofPod);
  if (ofPod.size === 0) assignments.delete(uid);
  return {machine: blocks.reduce(withReleased, state.machine), assignments};
};

/**
 * Returns the state in which the memory that a container uses again no longer belongs to the init containers before it,
 * so that the blocks of a pod add up to what is taken.
 */
export const withReuse = (
  before: MemoryState,
  {metadata, spec}: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  blocks: readonly MemoryBlock[],
): MemoryState => {
  const uid = metadata?.uid ?? '';
  const initContainers = spec?.initContainers ?? [];
  const end = initContainers.findIndex(({name}) => name === container.name);
  const earlier = (end < 0 ? initContainers : initContainers.slice(0, end)).filter(init => !isSidecar(init));
  let state = before;
  for (const {nodes, type, bytes} of blocks) {
    let rest = bytes;
    for (const {name} of earlier) {
      const old = state.assignments.get(uid)?.get(name) ?? [];
      const reduced = old.map(block => {
        if (block.type !== type || maskOf(block.nodes) !== maskOf(nodes)) return block;
        const used = Math.min(block.bytes, rest);
        rest -= used;
        return {...block, bytes: block.bytes - used};
      });
      if (old.length > 0) state = withBlocks(state, uid, name, reduced);
    }
  }
  return state;
};
