import type {Level, Rule} from './rules.js';

/** One thing that would happen if the files were applied, or that keeps them from being applied. */
export interface Finding {
  readonly rule: Rule;
  readonly level: Level;
  readonly message: string;
  readonly file: string;
  readonly line: number;
  /** The path of the field, if it is about one. */
  readonly field?: string;
  /** The object of the file that it is about; absent for a text that holds none. */
  readonly object?: Subject;
}

/** An object, as findings name it. */
export interface Subject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** `Deployment shop/web`. */
export const subjectText = ({kind, namespace, name}: Subject): string => `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
