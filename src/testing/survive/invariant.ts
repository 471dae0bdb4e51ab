import {messageOf} from '#src/base/message.js';
import type {EndView, SurviveOptions} from './scenario.js';

/** Resolves to what is violated, in words; undefined if nothing is. */
export const violationOf = async (invariant: NonNullable<SurviveOptions['invariant']>, view: EndView): Promise<string | undefined> => {
  try {
    const result = await invariant(view);
    if (typeof result === 'string') return result;
    return result === false ? 'it does not hold' : undefined;
  } catch (error) {
    return messageOf(error);
  }
};
