// Schedules: the fault of a run, and where it is injected.

/** Faults at a write of the operator. */
export const writeFaults = [
  'stopped before',
  'stopped after',
  'answer lost',
  'stale caches',
  'changed meanwhile',
  'another leads',
  'webhook away',
  'user first',
  'down until next act',
] as const;
/** Faults at an event that the operator receives. */
export const eventFaults = ['missed', 'delayed', 'doubled', 'others stale'] as const;
/** Faults of a whole run. */
export const runFaults = ['slow'] as const;

export type WriteFault = (typeof writeFaults)[number];
export type EventFault = (typeof eventFaults)[number];

/** A fault at the nth write or event of a run, from 1, or during all of the run. */
export type Schedule =
  | {readonly at: 'write'; readonly number: number; readonly fault: WriteFault}
  | {readonly at: 'event'; readonly number: number; readonly fault: EventFault}
  | {readonly at: 'run'; readonly number: 1; readonly fault: (typeof runFaults)[number]};

/** What identifies a run: the seed of its random numbers, and its schedule if it has one. */
export interface Seed {
  readonly random: number;
  readonly schedule?: Schedule | undefined;
  /** The wait of the scenario that is skipped, from 1, in a run that others are compared with. */
  readonly skippedWait?: number | undefined;
}

/** Returns a seed as text, such as `1/write 3/stopped after`. */
export const seedText = ({random, schedule}: Seed): string =>
  schedule ? `${random}/${schedule.at} ${schedule.number}/${schedule.fault}` : String(random);

const faultsAt: Readonly<Record<string, readonly string[]>> = {write: writeFaults, event: eventFaults, run: runFaults};

/** Parses a seed. Throws a `TypeError` for invalid text. */
export const parseSeed = (seed: string | number): Seed => {
  const [, random, at, number, fault] = /^(\d+)(?:\/(write|event|run) ([1-9]\d*)\/(.+))?$/.exec(String(seed)) ?? [];
  if (random === undefined)
    throw new TypeError(`the seed ${JSON.stringify(seed)} is not a number, or a number with a schedule such as "1/write 3/stopped after"`);
  if (at === undefined) return {random: Number(random)};
  const known = faultsAt[at] ?? [];
  if (!known.includes(fault!))
    throw new TypeError(`the seed ${JSON.stringify(seed)} has no such fault: those at a ${at} are ${known.join(', ')}`);
  return {random: Number(random), schedule: {at, number: Number(number), fault} as Schedule};
};

/** The writes and events of an undisturbed run, at which faults can be injected. */
export interface Strikable {
  readonly writes: readonly {
    /** Whether another client can change the object before the write. */
    readonly isChange: boolean;
    /** Whether a user acts after the write. */
    readonly isFollowed: boolean;
  }[];
  readonly events: number;
}

/** Returns every schedule, those at writes first. */
export const schedulesOf = ({writes, events}: Strikable): Schedule[] => [
  ...writes.flatMap(({isChange, isFollowed}, index) => {
    const without = new Set<WriteFault>([
      ...(isChange ? [] : (['changed meanwhile'] as const)),
      ...(isFollowed ? [] : (['user first', 'down until next act'] as const)),
    ]);
    return writeFaults.filter(fault => !without.has(fault)).map((fault): Schedule => ({at: 'write', number: index + 1, fault}));
  }),
  ...runFaults.map((fault): Schedule => ({at: 'run', number: 1, fault})),
  ...Array.from({length: events}, (_, index) => eventFaults.map((fault): Schedule => ({at: 'event', number: index + 1, fault}))).flat(),
];

/** Returns at most `most` items, evenly spread. */
export const spreadEvenly = <T>(all: readonly T[], most: number): readonly T[] =>
  all.length <= most ? all : Array.from({length: most}, (_, index) => all[Math.floor((index * all.length) / most)]!);
