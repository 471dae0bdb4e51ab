/** The result of one check. */
export interface Finding {
  readonly check: string;
  /** What needs it. */
  readonly feature: Feature;
  readonly isOk: boolean;
  /** What was found. */
  readonly found: string;
  /** What to do; empty where nothing is missing. */
  readonly advice: string;
}

/** The features that checks are for. */
export type Feature = 'plat up' | 'kubectl' | 'real containers' | 'planes by name';

/** Returns the result of a check with a problem, or without one and with what was found. */
export const finding = (feature: Feature, check: string, problem: string | undefined, found: string, advice: string): Finding => ({
  check,
  feature,
  isOk: problem === undefined,
  found: problem ?? found,
  advice: problem === undefined ? '' : advice,
});

/** Returns the problem of a program that is not among those found, by name. */
export const missing = (programs: Readonly<Record<string, string>>, name: string): string | undefined =>
  programs[name] === undefined ? 'it is not installed' : undefined;
