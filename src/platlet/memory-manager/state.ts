// The memory of the NUMA nodes, and what of it is assigned to containers. Pure.

import type {NumaNode} from '#src/platlet/topology/read.js';
import {maskOf} from '#src/platlet/topology-manager/mask.js';

/** An amount of memory or of huge pages that a container has on some NUMA nodes. */
export interface MemoryBlock {
  readonly nodes: readonly number[];
  /** `memory` or `hugepages-…`. */
  readonly type: string;
  readonly bytes: number;
}

/** The memory of one type on a NUMA node, in bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

export interface NodeMemory {
  readonly assignments: number;
  readonly tables: ReadonlyMap<string, MemoryTable>;
  /** The nodes that containers use together with this one, and itself. */
  readonly group: readonly number[];
}

/** The memory of each NUMA node. */
export type MachineMemory = ReadonlyMap<number, NodeMemory>;

/** The blocks of containers, by pod uid and container name. */
export type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

export interface MemoryState {
  readonly machine: MachineMemory;
  readonly assignments: MemoryAssignments;
}

/** The reserved memory of each NUMA node, by type. */
export type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

/** Returns the name of the resource of huge pages of a size. */
export const hugePagesOf = (pageBytes: number): string => {
  const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'];
  let [size, unit] = [pageBytes, 0];
  for (; size >= 1024 && size % 1024 === 0 && unit < units.length - 1; unit++) size /= 1024;
  return `hugepages-${size}${units[unit]}`;
};

const tableOf = (total: number, systemReserved: number, unusable: number): MemoryTable => {
  const allocatable = total - systemReserved - unusable;
  return {total, systemReserved, allocatable, reserved: 0, free: allocatable};
};

/** Returns the memory of a machine on which nothing is assigned. Huge pages are no ordinary memory. */
export const unusedMemory = (nodes: readonly NumaNode[], reserved: ReservedMemory): MachineMemory =>
  new Map(
    nodes.map(({id, memoryBytes, hugePages}) => {
      const reservedOf = (type: string): number => reserved.get(id)?.get(type) ?? 0;
      const pages = hugePages.map(({pageBytes, count}) => ({type: hugePagesOf(pageBytes), bytes: pageBytes * count}));
      const tables = new Map([
        ...pages.map(({type, bytes}) => [type, tableOf(bytes, reservedOf(type), 0)] as const),
        [
          'memory',
          tableOf(
            memoryBytes,
            reservedOf('memory'),
            pages.reduce((sum, {bytes}) => sum + bytes, 0),
          ),
        ] as const,
      ]);
      return [id, {assignments: 0, tables, group: [id]}];
    }),
  );

const changed = (machine: MachineMemory, id: number, change: Partial<NodeMemory>): MachineMemory =>
  new Map(machine).set(id, {...machine.get(id)!, ...change});

/** Returns the memory with an amount taken from some nodes, from the first ones first. */
export const withTaken = (before: MachineMemory, {nodes, type}: Omit<MemoryBlock, 'bytes'>, bytes: number): MachineMemory => {
  let machine = before;
  let rest = bytes;
  for (const id of nodes) {
    const {assignments, tables} = machine.get(id)!;
    const table = tables.get(type);
    const taken = Math.max(0, Math.min(rest, table?.free ?? 0));
    rest -= taken;
    machine = changed(machine, id, {
      assignments: assignments + 1,
      group: nodes,
      ...(table && taken > 0
        ? {tables: new Map(tables).set(type, {...table, reserved: table.reserved + taken, free: table.free - taken})}
        : {}),
    });
  }
  return machine;
};

/** Returns the memory with a block given back. */
export const withReleased = (before: MachineMemory, {nodes, type, bytes}: MemoryBlock): MachineMemory => {
  let machine = before;
  let rest = bytes;
  for (const id of nodes) {
    const node = machine.get(id);
    if (!node) continue;
    const table = node.tables.get(type);
    const released = Math.min(rest, table?.reserved ?? 0);
    rest -= released;
    machine = changed(machine, id, {
      assignments: node.assignments - 1,
      ...(node.assignments === 1 ? {group: [id]} : {}),
      ...(table && released > 0
        ? {tables: new Map(node.tables).set(type, {...table, reserved: table.reserved - released, free: table.free + released})}
        : {}),
    });
  }
  return machine;
};

const sameNodes = (a: readonly number[], b: readonly number[]): boolean => maskOf(a) === maskOf(b);

const freeAndReserved = (machine: MachineMemory, group: readonly number[], type: string): readonly [number, number] => {
  const tables = group.map(id => machine.get(id)?.tables.get(type));
  return [tables.reduce((sum, table) => sum + (table?.free ?? 0), 0), tables.reduce((sum, table) => sum + (table?.reserved ?? 0), 0)];
};

/** Whether two states agree: within a group of nodes, memory may be taken from any of them. */
const isSameMachine = (a: MachineMemory, b: MachineMemory): boolean =>
  a.size === b.size &&
  [...a].every(([id, one]) => {
    const other = b.get(id);
    if (!other || one.assignments !== other.assignments || !sameNodes(one.group, other.group)) return false;
    if (one.tables.size !== other.tables.size) return false;
    return [...one.tables].every(([type, table]) => {
      const same = other.tables.get(type);
      if (!same || table.total !== same.total || table.systemReserved !== same.systemReserved) return false;
      const [left, right] = [freeAndReserved(a, one.group, type), freeAndReserved(b, one.group, type)];
      return table.allocatable === same.allocatable && left[0] === right[0] && left[1] === right[1];
    });
  });

/** Returns the state to begin with: the saved one. Throws if it does not fit the machine and its reserved memory. */
export const checkedMemory = ({machine, assignments}: MemoryState, unused: MachineMemory): MemoryState => {
  if (machine.size === 0) {
    if (assignments.size > 0) throw new Error('[memorymanager] machine state can not be empty when it has memory assignments');
    return {machine: unused, assignments};
  }
  let expected = unused;
  for (const [uid, containers] of assignments)
    for (const [name, blocks] of containers)
      for (const block of blocks) {
        const who = `[memorymanager] (pod: ${uid}, container: ${name}) the memory assignment uses`;
        for (const id of block.nodes) {
          if (!expected.has(id)) throw new Error(`${who} the NUMA that does not exist`);
          if (!expected.get(id)!.tables.has(block.type)) throw new Error(`${who} memory resource that does not exist`);
        }
        expected = withTaken(expected, block, block.bytes);
      }
  if (!isSameMachine(machine, expected)) throw new Error('[memorymanager] the expected machine state is different from the real one');
  return {machine, assignments};
};

/** Whether nodes are used in a way that excludes a block on several nodes. */
export const excludesGroup = (machine: MachineMemory, nodes: readonly number[]): boolean =>
  nodes.length > 1 &&
  nodes.some(id => {
    const {assignments, group} = machine.get(id)!;
    return assignments > 0 && (group.length === 1 || !sameNodes(group, nodes));
  });

/** Returns how much of a type is free on some nodes. */
export const freeOn = (machine: MachineMemory, nodes: readonly number[], type: string): number =>
  nodes.reduce((sum, id) => sum + (machine.get(id)?.tables.get(type)?.free ?? 0), 0);

export const allocatableOn = (machine: MachineMemory, nodes: readonly number[], type: string): number =>
  nodes.reduce((sum, id) => sum + (machine.get(id)?.tables.get(type)?.allocatable ?? 0), 0);
