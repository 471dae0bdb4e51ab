import {quantityMilliValue, quantityValue, type Quantity} from '#src/api/quantity.js';

/** Resource amounts for scheduling: cpu in millicores, everything else in units. */
export interface Resources {
  cpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Huge pages, extended resources and attachable volumes, by name. */
  readonly scalars: Map<string, number>;
}

export const emptyResources = (): Resources => ({cpu: 0, memory: 0, ephemeralStorage: 0, scalars: new Map()});

const isCounted = (name: string): boolean => name.includes('/') || name.startsWith('hugepages-') || name.startsWith('attachable-volumes-');

/** Converts quantities to numbers. Resources that nodes do not limit are left out. */
export const resourcesOf = (amounts: ReadonlyMap<string, Quantity>): Resources => {
  const resources = emptyResources();
  for (const [name, amount] of amounts) {
    if (name === 'cpu') resources.cpu = Number(quantityMilliValue(amount));
    else if (name === 'memory') resources.memory = Number(quantityValue(amount));
    else if (name === 'ephemeral-storage') resources.ephemeralStorage = Number(quantityValue(amount));
    else if (isCounted(name)) resources.scalars.set(name, Number(quantityValue(amount)));
  }
  return resources;
};

/** Adds to `into`, or subtracts with a `sign` of -1. */
export const addResources = (into: Resources, {cpu, memory, ephemeralStorage, scalars}: Readonly<Resources>, sign: 1 | -1 = 1): void => {
  into.cpu += sign * cpu;
  into.memory += sign * memory;
  into.ephemeralStorage += sign * ephemeralStorage;
  for (const [name, amount] of scalars) into.scalars.set(name, (into.scalars.get(name) ?? 0) + sign * amount);
};

export const copyResources = ({scalars, ...rest}: Readonly<Resources>): Resources => ({...rest, scalars: new Map(scalars)});
