import {defaultProfile, defaultSchedulerName, type Profile} from './profile.js';

/** The settings of a scheduler. */
export interface Settings {
  /** By scheduler name. */
  readonly profiles: ReadonlyMap<string, Profile>;
  /** The backoff between attempts. */
  readonly backoff: {readonly initialMs: number; readonly maxMs: number};
  /** How long an unschedulable pod waits before it is retried without any event. */
  readonly unschedulableTimeoutMs: number;
}

export const defaultSettings: Settings = {
  profiles: new Map([[defaultSchedulerName, defaultProfile]]),
  backoff: {initialMs: 1_000, maxMs: 10_000},
  unschedulableTimeoutMs: 300_000,
};
