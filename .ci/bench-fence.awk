# Makes a table of what BenchmarkGuard of each guard reports.
BEGIN {
  print "| store | bare, µs | guarded, µs | times |"
  print "|---|---|---|---|"
}
$1 == "pkg:" { n = split($2, path, "/"); guard = path[n] }
$1 ~ /^BenchmarkGuard/ {
  name = $1
  sub(/^BenchmarkGuard\/?/, "", name)
  sub(/-[0-9]+$/, "", name)
  for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
  printf "| `%s`%s | %s | %s | %s |\n", guard, name == "" ? "" : " " name, value["bare-µs/op"], value["guarded-µs/op"], value["x-bare"]
}
