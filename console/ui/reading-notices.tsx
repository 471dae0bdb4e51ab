import {Notice} from './parts.js';

interface ReadingState {
  readonly error?: string | undefined;
  /** Why what is shown does not follow the cluster, or late. */
  readonly behind?: string | undefined;
}

/** Says why something cannot be read, or does not follow the cluster. What was read before stays. */
export function ReadingNotices({state: {error, behind}}: {readonly state: ReadingState}) {
  return (
    <>
      {error ? <Notice tone="bad">{error}</Notice> : null}
      {behind && !error ? <Notice tone="waiting">{behind}</Notice> : null}
    </>
  );
}
