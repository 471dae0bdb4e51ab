// Constraints among the devices of a claim: equal or distinct values of an attribute.

import {jsonText} from '#src/base/json/json.js';
import {AllocationError, type Candidate, type Constraint} from './types.js';

/** The requests that a device is for: its own, and of a prioritized list also the list's. */
export interface RequestNames {
  readonly request: string;
  /** `list/alternative`, for a request of a prioritized list. */
  readonly alternative?: string | undefined;
}

/** Tracks the devices that were added. Every device that is added is removed again, or part of the result. */
export interface ConstraintState {
  /** Adds a device; returns false, and adds nothing, if it does not meet the constraint. */
  add(names: RequestNames, candidate: Candidate): boolean;
  remove(names: RequestNames, candidate: Candidate): void;
}

/** Returns an attribute's value as a text that differs between types; undefined if the device lacks the attribute. */
const attributeOf = ({id, device}: Candidate, name: string): string | undefined => {
  const attributes = device.attributes ?? {};
  const slash = name.indexOf('/');
  const short = slash > 0 && name.slice(0, slash) === id.driver ? name.slice(slash + 1) : name;
  const key = [name, short].find(each => Object.hasOwn(attributes, each));
  if (key === undefined) return undefined;
  const [entry] = Object.entries(attributes[key]!).filter(([, value]) => value !== undefined);
  return entry && jsonText(entry);
};

const isConcerned = (requests: readonly string[], {request, alternative}: RequestNames): boolean =>
  requests.length === 0 || requests.includes(request) || (alternative !== undefined && requests.includes(alternative));

const matching = (requests: readonly string[], attribute: string): ConstraintState => {
  let [value, count]: [string | undefined, number] = [undefined, 0];
  return {
    add(names, candidate) {
      if (!isConcerned(requests, names)) return true;
      const own = attributeOf(candidate, attribute);
      if (own === undefined || (count > 0 && own !== value)) return false;
      value = own;
      count++;
      return true;
    },
    remove(names) {
      if (isConcerned(requests, names)) count--;
    },
  };
};

const distinct = (requests: readonly string[], attribute: string): ConstraintState => {
  const values = new Set<string>();
  return {
    add(names, candidate) {
      if (!isConcerned(requests, names)) return true;
      const own = attributeOf(candidate, attribute);
      if (own === undefined || values.has(own)) return false;
      values.add(own);
      return true;
    },
    remove(names, candidate) {
      const own = isConcerned(requests, names) ? attributeOf(candidate, attribute) : undefined;
      if (own !== undefined) values.delete(own);
    },
  };
};

/** Returns the state of the constraints of a claim. */
export const constraintsOf = (constraints: readonly Constraint[], claim: string): ConstraintState[] =>
  constraints.map(({requests = [], matchAttribute, distinctAttribute}, index) => {
    if (matchAttribute !== undefined) return matching(requests, matchAttribute);
    if (distinctAttribute !== undefined) return distinct(requests, distinctAttribute);
    throw new AllocationError(`claim ${claim}, constraint #${index}: empty constraint (unsupported constraint type?)`);
  });
