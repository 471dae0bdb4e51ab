import type {Frozen} from '#src/api/key.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {compareQuantities, parseQuantity, quantityMilliValue, quantityValue, zeroQuantity, addQuantities, subtractQuantities, type Quantity} from '#src/api/quantity.js';
import {podRequests, type ResourceList} from '#src/model/pod/requests.js';

/** What the pods of a node take of it: amounts and ports of the host. */
export interface Room {
  readonly used: ResourceList;
  readonly ports: Set<string>;
  pods: number;
}
export const emptyRoom = (): Room => ({used: new Map(), ports: new Set(), pods: 0});

/** The ports of the host that a pod's containers take, spelled with protocol and address. */
const portsOf = ({containers, initContainers = []}: Frozen<PodSpec>): {readonly ip: string; readonly key: string}[] =>
  [...containers, ...initContainers.filter(({restartPolicy}) => restartPolicy === 'Always')].flatMap(({ports = []}) =>
    ports.filter(({hostPort}) => hostPort).map(({hostPort, hostIP, protocol = 'TCP'}) => ({ip: hostIP || '0.0.0.0', key: `${protocol}/${hostPort}`})),
  );

/** What one pod takes. */
export interface Hold {
  readonly amounts: ResourceList;
  readonly ports: readonly string[];
}

const change = (room: Room, amounts: ResourceList, by: (a: Quantity, b: Quantity) => Quantity): void => {
  for (const [name, amount] of amounts) room.used.set(name, by(room.used.get(name) ?? zeroQuantity, amount));
};

/** Takes room for a pod, whether there is any or not. */
export const take = (room: Room, pod: Frozen<Pod>): Hold => {
  const hold = {amounts: podRequests(pod, {podLevel: true}), ports: portsOf(pod.spec!).map(({ip, key}) => `${key}/${ip}/${pod.metadata?.uid}`)};
  room.pods++;
  change(room, hold.amounts, addQuantities);
  for (const port of hold.ports) room.ports.add(port);
  return hold;
};

/** Gives the room of a pod back. */
export const giveBack = (room: Room, {amounts, ports}: Hold): void => {
  room.pods--;
  change(room, amounts, subtractQuantities);
  for (const port of ports) room.ports.delete(port);
};

type Capacity = Readonly<Record<string, string>>;

/** Amounts as refusals tell them: processors in thousandths, all else whole. */
const told = (name: string, amount: Quantity): bigint => (name === 'cpu' ? quantityMilliValue(amount) : quantityValue(amount));

/** Why a node does not take a pod. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

const outOf = (name: string, requested: bigint | number, used: bigint | number, capacity: bigint | number): Refusal => ({
  reason: `OutOf${name}`,
  message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
});

const isTaken = (room: Room, {ip, key}: {readonly ip: string; readonly key: string}): boolean => {
  for (const taken of room.ports) {
    if (!taken.startsWith(`${key}/`)) continue;
    const other = taken.slice(key.length + 1, taken.lastIndexOf('/'));
    if (ip === '0.0.0.0' || other === '0.0.0.0' || ip === other) return true;
  }
  return false;
};

/** What a pod lacks on a node; undefined if nothing. What a node does not count at all does not stop a pod. */
export const lack = (room: Room, allocatable: Capacity, pod: Frozen<Pod>): Refusal | undefined => {
  const places = Number(allocatable['pods'] ?? 0);
  if (room.pods + 1 > places) return outOf('pods', 1, room.pods, places);
  for (const [name, amount] of podRequests(pod, {podLevel: true})) {
    const text = allocatable[name];
    if (compareQuantities(amount, zeroQuantity) === 0 || (text === undefined && name.includes('/'))) continue;
    const used = room.used.get(name) ?? zeroQuantity;
    const capacity = parseQuantity(text ?? '0');
    if (compareQuantities(addQuantities(used, amount), capacity) > 0) return outOf(name, told(name, amount), told(name, used), told(name, capacity));
  }
  return undefined;
};

/** Whether a port that the pod wants of the host is another's. */
export const portsCollide = (room: Room, {spec}: Frozen<Pod>): boolean => portsOf(spec!).some(port => isTaken(room, port));

/** Why a pod that holds room cannot have what it asks for now: never, or not before others have gone; undefined if it can. */
export const resizeLack = (room: Room, hold: Hold, allocatable: Capacity, pod: Frozen<Pod>): Refusal | undefined => {
  const wanted = podRequests(pod, {podLevel: true});
  for (const isFinal of [true, false]) {
    for (const [name, amount] of wanted) {
      const capacity = parseQuantity(allocatable[name] ?? '0');
      const others = subtractQuantities(room.used.get(name) ?? zeroQuantity, hold.amounts.get(name) ?? zeroQuantity);
      const what = `${name}, requested: ${told(name, amount)}`;
      if (isFinal && compareQuantities(amount, capacity) > 0) {
        return {reason: 'Infeasible', message: `Node didn't have enough capacity: ${what}, capacity: ${told(name, capacity)}`};
      }
      if (!isFinal && compareQuantities(addQuantities(others, amount), capacity) > 0) {
        return {reason: 'Deferred', message: `Node didn't have enough resource: ${what}, used: ${told(name, others)}, capacity: ${told(name, capacity)}`};
      }
    }
  }
  return undefined;
};
