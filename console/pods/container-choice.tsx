/** The choice among the containers of a pod. */
export function ContainerChoice({
  containers,
  value,
  choose,
}: {
  readonly containers: readonly {readonly name: string}[];
  readonly value: string;
  readonly choose: (name: string) => void;
}) {
  return (
    <label>
      Container{' '}
      <select value={value} onChange={event => choose(event.currentTarget.value)}>
        {containers.map(({name}) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
