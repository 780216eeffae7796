package limits

// SearchSkills is how many skills one scope of the search holds.
const SearchSkills = 200_000
