import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import {addQuantities, compareQuantities, formatQuantity, parseQuantity, type Quantity} from '#src/api/quantity.js';

/** Amounts by the resource's name. */
export type Amounts = Map<string, Quantity>;
type Written = Readonly<Record<string, string>>;

const read = (list: Written | undefined): Amounts => new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));

const add = (into: Amounts, other: Amounts): void => {
  for (const [name, amount] of other) {
    const before = into.get(name);
    into.set(name, before ? addQuantities(before, amount) : amount);
  }
};

const most = (into: Amounts, other: Amounts): void => {
  for (const [name, amount] of other) {
    const before = into.get(name);
    if (!before || compareQuantities(amount, before) > 0) into.set(name, amount);
  }
};

/**
 * What all containers need together: those that run at once, sidecars among them, or the most that any init container needs while it runs beside
 * the sidecars before it, whichever is more (KEP-753).
 */
const together = ({containers, initContainers = []}: Readonly<PodSpec>, of: (container: AnyContainer) => Written | undefined): Amounts => {
  const running: Amounts = new Map();
  for (const container of containers ?? []) add(running, read(of(container)));
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of initContainers ?? []) {
    const own = read(of(container));
    if (container.restartPolicy === 'Always') {
      add(running, own);
      add(sidecars, own);
      most(starting, sidecars);
    } else {
      const beside = new Map(own);
      add(beside, sidecars);
      most(starting, beside);
    }
  }
  most(running, starting);
  return running;
};

/** What the containers of a pod ask for together, without overhead. */
export const containerRequests = (spec: Readonly<PodSpec>): Amounts => together(spec, ({resources}) => resources?.requests);
/** What the containers of a pod are held to together, without overhead. */
export const containerLimits = (spec: Readonly<PodSpec>): Amounts => together(spec, ({resources}) => resources?.limits);

/** Amounts as objects carry them. */
export const written = (amounts: Amounts): Record<string, string> => Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));
