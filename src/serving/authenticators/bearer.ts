import type {AuthenticationRequest} from '#src/api/authentication.js';

const partsOf = ({headers}: AuthenticationRequest): readonly string[] => {
  const value = headers['authorization'];
  if (typeof value !== 'string') return [];
  const [scheme = '', ...rest] = value.trim().split(' ');
  return scheme.toLowerCase() === 'bearer' ? rest : [];
};

/** The bearer token of a request; empty when there is none: for an empty one, another scheme, or more than one space before it. */
export const bearerToken = (request: AuthenticationRequest): string => partsOf(request)[0] ?? '';

/** Whether a request has a token that is not seen for the spaces before it. */
export const hidesToken = (request: AuthenticationRequest): boolean => {
  const [first, second] = partsOf(request);
  return first === '' && second !== undefined;
};
