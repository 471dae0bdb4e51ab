import {defaultProfile, defaultSchedulerName, type Profile} from './profile.js';

/** What a scheduler is told beside what its cluster holds. */
export interface Settings {
  /** By the name that pods ask for. */
  readonly profiles: ReadonlyMap<string, Profile>;
  /** The waits between attempts. */
  readonly backoff: {readonly initialMs: number; readonly maxMs: number};
  /** How long a pod that fits nowhere waits before it is tried again, whatever has happened. */
  readonly unschedulableTimeoutMs: number;
}

export const defaultSettings: Settings = {
  profiles: new Map([[defaultSchedulerName, defaultProfile]]),
  backoff: {initialMs: 1_000, maxMs: 10_000},
  unschedulableTimeoutMs: 300_000,
};
