import {shortDuration, useNow} from '#page/base/format.js';
import {visible} from '#page/base/visible.js';
import type {Row, TableState} from '#page/api/table.js';
import {Status} from '#page/ui/parts.js';

/** The cell of a row by the name of its column. */
export const cellOf = (state: TableState, {cells}: Row, name: string): string => {
  const value = cells[state.columns.findIndex(column => column.name === name)];
  return value === null || value === undefined ? '' : visible(String(value));
};

const most = 100;

/** Events, the latest first. */
export function EventTable({
  state,
  empty,
  isShort = false,
}: {
  readonly state: TableState;
  readonly empty: string;
  readonly isShort?: boolean;
}) {
  const now = useNow(5000);
  const rows = [...state.rows]
    .sort((one, other) => Date.parse(other.metadata.creationTimestamp ?? '') - Date.parse(one.metadata.creationTimestamp ?? ''))
    .slice(0, isShort ? 8 : most);
  if (rows.length === 0) return <p class="empty">{state.isComplete ? empty : 'Reading…'}</p>;
  return (
    <div class="scrolling" tabIndex={0} role="region" aria-label="Events">
      <table class="events">
        <thead>
          <tr>
            <th>Since</th>
            <th>Type</th>
            <th>Reason</th>
            <th>Object</th>
            <th>Message</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.key}>
              <td>{shortDuration(now - Date.parse(row.metadata.creationTimestamp ?? ''))}</td>
              <td>
                <Status of={cellOf(state, row, 'Type')} />
              </td>
              <td>{cellOf(state, row, 'Reason')}</td>
              <td>{cellOf(state, row, 'Object')}</td>
              <td class="message">{cellOf(state, row, 'Message')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
