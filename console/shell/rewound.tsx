import {useCell} from '#page/base/cell.js';
import {useKeys} from '#page/base/keys.js';
import {moment} from '#page/base/moment.js';

/** Says that the page shows a moment that is past. */
export function Rewound() {
  const shown = useCell(moment);
  const back = () => moment.set(undefined);
  useKeys({b: () => shown !== undefined && back()});
  if (shown === undefined) return null;
  return (
    <div class="rewound" role="status">
      <b>{new Date(shown.time).toISOString().replace('T', ' ').slice(0, 23)}</b> The page shows this moment, and changes nothing.
      <button type="button" onClick={back} title="Back to now (b)">
        Back to now
      </button>
    </div>
  );
}
